/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of KUnit that driver/litepulse_test.c uses, for kernels without KUnit: Debian's have none.
 *
 * Loading the module runs its cases and prints their results as KTAP. Unlike KUnit's, a failed assertion returns from the
 * function that it is in; so it may only stand in a case, or in a helper that returns nothing.
 */
#ifndef KUNIT_SMALL_TEST_H
#define KUNIT_SMALL_TEST_H

#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#define KUNIT_SMALL_ALLOCATIONS	8

struct kunit {
	bool failed;
	void *allocated[KUNIT_SMALL_ALLOCATIONS];
	int allocations;
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
};

struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(test_name) { .run_case = test_name, .name = #test_name }

#define KUNIT_SMALL_CHECK(test, condition, text, otherwise)				\
do {											\
	if (!(condition)) {								\
		pr_err("    # expected at %s:%d: %s\n", __FILE__, __LINE__, text);	\
		(test)->failed = true;							\
		otherwise;								\
	}										\
} while (0)
#define KUNIT_SMALL_COMPARE(test, left, op, right, otherwise)				\
do {											\
	typeof(left) __left = (left);							\
	typeof(right) __right = (right);						\
	KUNIT_SMALL_CHECK(test, __left op __right, #left " " #op " " #right, otherwise);\
} while (0)

#define KUNIT_EXPECT_TRUE(test, x)	KUNIT_SMALL_CHECK(test, x, #x, )
#define KUNIT_EXPECT_FALSE(test, x)	KUNIT_SMALL_CHECK(test, !(x), "!(" #x ")", )
#define KUNIT_EXPECT_NULL(test, x)	KUNIT_SMALL_CHECK(test, !(x), "!(" #x ")", )
#define KUNIT_EXPECT_NOT_NULL(test, x)	KUNIT_SMALL_CHECK(test, x, #x, )
#define KUNIT_EXPECT_EQ(test, x, y)	KUNIT_SMALL_COMPARE(test, x, ==, y, )
#define KUNIT_EXPECT_NE(test, x, y)	KUNIT_SMALL_COMPARE(test, x, !=, y, )
#define KUNIT_EXPECT_GE(test, x, y)	KUNIT_SMALL_COMPARE(test, x, >=, y, )
#define KUNIT_EXPECT_GT(test, x, y)	KUNIT_SMALL_COMPARE(test, x, >, y, )
#define KUNIT_EXPECT_LE(test, x, y)	KUNIT_SMALL_COMPARE(test, x, <=, y, )
#define KUNIT_EXPECT_LT(test, x, y)	KUNIT_SMALL_COMPARE(test, x, <, y, )
#define KUNIT_EXPECT_PTR_EQ(test, x, y)	KUNIT_SMALL_COMPARE(test, x, ==, y, )
#define KUNIT_EXPECT_PTR_NE(test, x, y)	KUNIT_SMALL_COMPARE(test, x, !=, y, )
#define KUNIT_EXPECT_STREQ(test, x, y)	KUNIT_SMALL_CHECK(test, !strcmp(x, y), #x " is " #y, )
#define KUNIT_EXPECT_MEMEQ(test, x, y, size)	KUNIT_SMALL_CHECK(test, !memcmp(x, y, size), #x " is " #y, )
#define KUNIT_ASSERT_TRUE(test, x)	KUNIT_SMALL_CHECK(test, x, #x, return)
#define KUNIT_ASSERT_FALSE(test, x)	KUNIT_SMALL_CHECK(test, !(x), "!(" #x ")", return)
#define KUNIT_ASSERT_NULL(test, x)	KUNIT_SMALL_CHECK(test, !(x), "!(" #x ")", return)
#define KUNIT_ASSERT_NOT_NULL(test, x)	KUNIT_SMALL_CHECK(test, x, #x, return)
#define KUNIT_ASSERT_EQ(test, x, y)	KUNIT_SMALL_COMPARE(test, x, ==, y, return)
#define KUNIT_ASSERT_NE(test, x, y)	KUNIT_SMALL_COMPARE(test, x, !=, y, return)
#define KUNIT_ASSERT_GE(test, x, y)	KUNIT_SMALL_COMPARE(test, x, >=, y, return)
#define KUNIT_ASSERT_GT(test, x, y)	KUNIT_SMALL_COMPARE(test, x, >, y, return)
#define KUNIT_ASSERT_LE(test, x, y)	KUNIT_SMALL_COMPARE(test, x, <=, y, return)
#define KUNIT_ASSERT_LT(test, x, y)	KUNIT_SMALL_COMPARE(test, x, <, y, return)
#define KUNIT_ASSERT_PTR_EQ(test, x, y)	KUNIT_SMALL_COMPARE(test, x, ==, y, return)
#define KUNIT_ASSERT_PTR_NE(test, x, y)	KUNIT_SMALL_COMPARE(test, x, !=, y, return)
#define KUNIT_ASSERT_STREQ(test, x, y)	KUNIT_SMALL_CHECK(test, !strcmp(x, y), #x " is " #y, return)
#define KUNIT_ASSERT_MEMEQ(test, x, y, size)	KUNIT_SMALL_CHECK(test, !memcmp(x, y, size), #x " is " #y, return)

/* Freed at the end of the case; NULL also if the case has too many. */
static inline void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp)
{
	if (test->allocations == KUNIT_SMALL_ALLOCATIONS)
		return NULL;
	return test->allocated[test->allocations++] = kzalloc(size, gfp);
}

static inline int kunit_small_run(const struct kunit_suite *suite)
{
	const struct kunit_case *test_case;
	int number = 0;

	pr_info("# Subtest: %s\n", suite->name);
	for (test_case = suite->test_cases; test_case->run_case; test_case++) {
		struct kunit test = {};

		test_case->run_case(&test);
		while (test.allocations)
			kfree(test.allocated[--test.allocations]);
		pr_info("%s %d %s\n", test.failed ? "not ok" : "ok", ++number, test_case->name);
	}
	return 0;
}

#define kunit_test_suite(suite)								\
static int __init kunit_small_init(void) { return kunit_small_run(&(suite)); }		\
static void __exit kunit_small_exit(void) { }						\
module_init(kunit_small_init);								\
module_exit(kunit_small_exit)

#endif
