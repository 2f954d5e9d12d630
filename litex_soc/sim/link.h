// SPDX-License-Identifier: BSD-2-Clause
// A pair of wires between two simulators: TX of each is RX of the other, a constant number of ticks later.
//
// Each end reports every change of its TX, and how far it has simulated; it runs only as far ahead
// as the delay allows after the other end's report. So a change always arrives at its exact tick,
// however fast either process runs. Ticks are counted from when the two met: the first message of
// each end says its own tick then.
//
// On the Unix socket: a Greeting, then words of 64 bits, tick * 2 + level of TX from that tick on. Both ends are on one machine.
#ifndef LITEPULSE_LINK_H
#define LITEPULSE_LINK_H

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

class Link {
public:
    static constexpr uint64_t NEVER = UINT64_MAX;

    // Takes the socket's place, or meets who has it. Two simulators may come in any order, also at once: the lock on the folder keeps one
    // from finding the other between bind() and listen(), where it looks like one left behind by a simulator that was killed.
    Link(const std::string &path_, uint64_t delay_, uint32_t clock_num, uint32_t clock_den)
        : path(path_), delay(delay_), mine{MAGIC, clock_num, clock_den, delay_}
    {
        sockaddr_un a{};
        a.sun_family = AF_UNIX;
        if (path.empty() || path.size() >= sizeof a.sun_path)
            fail("--link: '%s' is no path of a socket, or too long for one", path.c_str());
        memcpy(a.sun_path, path.c_str(), path.size());
        const size_t slash = path.rfind('/');
        const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
        const int lock = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (lock < 0)
            fail("--link: %s: %s", path.c_str(), strerror(errno));
        while (::flock(lock, LOCK_EX) && errno == EINTR)
            ;
        const int fd = make();
        if (!::connect(fd, (sockaddr *)&a, sizeof a)) {
            peer = fd;
        } else {
            const int why = errno;
            if (why == ECONNREFUSED)
                unlink(path.c_str());
            if ((why != ENOENT && why != ECONNREFUSED) || ::bind(fd, (sockaddr *)&a, sizeof a) || ::listen(fd, 1))
                fail("--link: %s: %s", path.c_str(), strerror(errno));
            door = fd;
        }
        ::close(lock);
    }

    ~Link()
    {
        if (door >= 0)
            unlink(path.c_str());
    }

    // What to wait for besides the bridge; -1: nothing.
    int waits_for() const { return peer >= 0 ? peer : door; }

    // Ticks before this one may be simulated.
    uint64_t horizon() const { return peer >= 0 && met ? known + delay : NEVER; }

    // When RX changes next, as far as is known.
    uint64_t next_change() const { return arriving.empty() ? NEVER : arriving.front() >> 1; }

    // The level of RX from then on.
    bool take()
    {
        const bool level = arriving.front() & 1;
        arriving.pop_front();
        return level;
    }

    // TX has this level from this tick on; also sent when nothing changed, so that the other end can go on.
    void tell(uint64_t tick, bool level)
    {
        if (peer < 0 || !met)
            return;
        const uint64_t word = tick << 1 | level;
        if (word == last_sent)
            return;
        last_sent = word;
        put(&word, sizeof word);
    }

    // Meets the other end, takes what it says. `tick`: the next one to be simulated; `level` of TX.
    void look(uint64_t tick, bool level)
    {
        const int fd = door < 0 ? -1 : ::accept4(door, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (peer < 0)
            peer = fd;
        else if (fd >= 0)
            ::close(fd);        // a third one
        if (peer < 0)
            return;
        if (!met) {
            met = true;
            origin = known = tick;
            theirs = last_sent = NEVER;
            greeted = false;
            arriving = {tick << 1 | 1};
            put(&mine, sizeof mine);
            tell(tick, level);
        }
        flush();
        char data[4096];
        for (ssize_t size; peer >= 0 && (size = ::recv(peer, data, sizeof data, MSG_DONTWAIT)) != -1;) {
            if (!size) {
                lose();
                return;
            }
            heard.append(data, size_t(size));
            interpret();
        }
        if (peer >= 0 && errno != EAGAIN && errno != EINTR)
            lose();
    }

private:
    static constexpr uint64_t MAGIC = 0x314b4e494c50u;

    struct Greeting {
        uint64_t magic;
        uint32_t clock_num, clock_den;
        uint64_t delay;
    };

    const std::string path;
    const uint64_t delay;
    const Greeting mine;
    int door = -1, peer = -1;
    bool met = false, greeted = false;
    uint64_t origin = 0;            // our tick when we met
    uint64_t theirs = NEVER;        // the other end's then
    uint64_t known = 0;             // our tick up to which we know what it sent
    uint64_t last_sent = NEVER;
    std::string heard, waiting;
    std::deque<uint64_t> arriving;  // tick * 2 + level, in order

    static int make()
    {
        const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            fail("--link: %s", strerror(errno));
        return fd;
    }

    void put(const void *data, size_t size)
    {
        waiting.append(static_cast<const char *>(data), size);
        flush();
    }

    void flush()
    {
        while (!waiting.empty()) {
            const ssize_t size = ::send(peer, waiting.data(), waiting.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (size <= 0)
                return;     // full, or gone: reading shows which
            waiting.erase(0, size_t(size));
        }
    }

    void interpret()
    {
        size_t at = 0;
        if (!greeted && heard.size() >= sizeof(Greeting)) {
            Greeting g;
            memcpy(&g, heard.data(), sizeof g);
            if (memcmp(&g, &mine, sizeof g))
                fail("--link: %s: the other simulator has a clock of %u/%u Hz and a delay of %llu ticks, this one %u/%u and %llu",
                     path.c_str(), g.clock_num, g.clock_den, (unsigned long long)g.delay, mine.clock_num, mine.clock_den,
                     (unsigned long long)delay);
            greeted = true;
            at = sizeof g;
        }
        for (; greeted && heard.size() - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
            uint64_t word;
            memcpy(&word, heard.data() + at, sizeof word);
            if (theirs == NEVER)
                theirs = word >> 1;
            known = (word >> 1) - theirs + origin;
            arriving.push_back((known + delay) << 1 | (word & 1));
        }
        heard.erase(0, at);
    }

    // The other end has gone: what it sent still arrives, then the line is idle.
    void lose()
    {
        if (!greeted && door < 0)
            fail("--link: %s: two other simulators use it", path.c_str());
        ::close(peer);
        peer = -1;
        met = false;
        heard.clear();
        waiting.clear();
        arriving.push_back((known + delay) << 1 | 1);
    }
};

#endif
