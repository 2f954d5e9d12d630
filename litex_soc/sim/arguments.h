// SPDX-License-Identifier: BSD-2-Clause
// What the simulators' command lines share: options with `--name value` and `--name=value`, numbers, one line and status 2 for bad input.
// The including file defines PROGRAM, its name as a string.
#ifndef LITEPULSE_ARGUMENTS_H
#define LITEPULSE_ARGUMENTS_H

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

[[noreturn]] __attribute__((format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs(PROGRAM ": ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

// `text` as a whole number from low to high; `option` says whose it is.
static inline uint64_t number(const std::string &text, const char *option, uint64_t low, uint64_t high)
{
    if (text.empty() || text.size() > 19 || text.find_first_not_of("0123456789") != std::string::npos)
        fail("%s: '%s' is not a whole number", option, text.c_str());
    const uint64_t value = strtoull(text.c_str(), nullptr, 10);
    if (value < low || value > high)
        fail("%s: %s is not within %llu to %llu", option, text.c_str(), (unsigned long long)low, (unsigned long long)high);
    return value;
}

// One option after another.
class Arguments {
public:
    Arguments(int argc, char **argv) : left(argc - 1), next_one(argv + 1) {}

    // Takes the next option; false if there is none.
    bool next()
    {
        if (!left)
            return false;
        name = *next_one++;
        --left;
        const size_t equals = name.find('=');
        joined = name.compare(0, 2, "--") == 0 && equals != std::string::npos;
        if (joined) {
            given = name.substr(equals + 1);
            name.resize(equals);
        }
        return true;
    }

    bool is(const char *option) const { return name == option; }

    // The value of the option.
    std::string value()
    {
        if (joined)
            return given;
        if (!left)
            fail("%s needs an argument", name.c_str());
        --left;
        return *next_one++;
    }

    // The option's value if there is one: joined, or a next argument that is no option.
    std::string optional()
    {
        return joined || (left && (*next_one)[0] != '-') ? value() : "";
    }

    // The option is one without a value.
    bool flag() const
    {
        if (joined)
            fail("%s takes no argument", name.c_str());
        return true;
    }

    std::string name;

private:
    int left;
    char **next_one;
    bool joined = false;
    std::string given;
};

#endif
