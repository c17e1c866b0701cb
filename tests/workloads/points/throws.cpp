/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * throws [N]: a function throws on every odd call, through another one and past
 * destructors; the caller catches. A return probe would abort it.
 */
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace shop {

static volatile int destroyed;

struct guard {
	~guard() { destroyed = destroyed + 1; }
};

class till {
public:
	__attribute__((noinline)) int sell(int i, const std::string &what);
	__attribute__((noinline)) int sell(double price);
};

__attribute__((noinline)) int check(int i)
{
	guard g;

	if (i % 2)
		throw std::runtime_error("odd");
	return i;
}

int till::sell(int i, const std::string &what)
{
	guard g;

	return check(i) + static_cast<int>(what.size());
}

int till::sell(double price)
{
	destroyed = destroyed + 0;
	return static_cast<int>(price);
}

__attribute__((noinline)) int after(int i)
{
	destroyed = destroyed + 0;
	return i;
}

}

int main(int argc, char **argv)
{
	int n = argc > 1 ? std::atoi(argv[1]) : 200, sold = 0, caught = 0;
	shop::till till;

	for (int i = 0; i < n; i++) {
		try {
			sold += till.sell(i, "apple") > 0;
		} catch (const std::runtime_error &) {
			caught++;
		}
		shop::after(i);
	}
	till.sell(2.5);
	std::printf("sold=%d caught=%d destroyed=%d\n", sold, caught, static_cast<int>(shop::destroyed));
	return 4;
}
