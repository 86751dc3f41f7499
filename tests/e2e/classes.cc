// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects of classes that one thread writes and another reads through pointers to their base: in each round as many
 * of Circle, Square and shop::Order, which differ in size, and a Wheel is of a class derived from Circle.  The
 * thread that writes replaces some in each round, also by another class of the same size.  Beside them
 * plain blocks of two sizes, which are of no class.  Goes on until its end is asked for, or for as many seconds as
 * the argument says.
 */
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define ALONE __attribute__((noinline, noclone, noipa))

struct Shape {
	long value = 0;
	virtual ~Shape() = default;
	virtual int kind() const = 0;
};

struct Circle : Shape {
	long more[6] = {};
	int kind() const override { return 1; }
};

struct Wheel : Circle {
	int kind() const override { return 2; }
};

struct Square : Shape {
	long more[12] = {};
	int kind() const override { return 3; }
};

namespace shop {
template <typename T> struct Order : Shape {
	T more[30] = {};
	int kind() const override { return 4; }
};
} // namespace shop

enum { EACH = 1500, KINDS = 4 };

static std::vector<std::unique_ptr<Shape>> shapes;
static std::vector<volatile long *> plain;
static pthread_barrier_t turn;
static volatile bool is_over;

static Shape *make(int kind)
{
	switch (kind) {
	case 0:
		return new Circle;
	case 1:
		return new Wheel;
	case 2:
		return new Square;
	default:
		return new shop::Order<long>;
	}
}

ALONE static void write_shapes(long round)
{
	for (auto &shape : shapes)
		shape->value = round;
}

ALONE static long read_shapes()
{
	long sum = 0;

	for (const auto &shape : shapes)
		sum += shape->value;
	return sum;
}

ALONE static void write_plain(long round)
{
	for (volatile long *block : plain)
		*block = round;
}

ALONE static long read_plain()
{
	long sum = 0;

	for (volatile long *block : plain)
		sum += *block;
	return sum;
}

/* One in some hundred, so that most live for seconds. */
static void replace(long round)
{
	size_t at = (size_t)(round * 37) % shapes.size();

	shapes[at].reset();
	shapes[at].reset(make((int)(at % KINDS)));
}

static void *writes(void *unused)
{
	for (long round = 0; !is_over; round++) {
		if (round % 16 == 0)
			replace(round);
		write_shapes(round);
		write_plain(round);
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
	}
	return unused;
}

int main(int argc, char **argv)
{
	long seconds = argc > 1 ? atol(argv[1]) : 1, sum = 0;
	pthread_t thread;

	alarm((unsigned int)seconds);
	for (int i = 0; i < EACH * KINDS; i++) {
		shapes.emplace_back(make(i % KINDS));
		if (i % 4 == 0)
			plain.push_back(new long[i % 8 ? 5 : 50]());
	}
	pthread_barrier_init(&turn, nullptr, 2);
	pthread_create(&thread, nullptr, writes, nullptr);
	for (;;) {
		pthread_barrier_wait(&turn);
		sum += read_shapes() + read_plain();
		pthread_barrier_wait(&turn);
	}
}
