/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * frames-cxx KIND: C++ whose stacks are known from this file. Kinds:
 *
 *   async       std::async, its future waited for
 *   condvar     std::condition_variable with a predicate
 *   virtual     a virtual call in a lambda in a std::function, which sleeps
 *   throw       an exception through ten frames, each with a destructor; a sleep where it is caught
 *   inflight    the same, and the destructors sleep while the exception is on its way
 */
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#define FRAME __attribute__((noinline, noclone))

namespace {

/* Room in a frame that is used after the calls too, so that none of them is a jump. */
template <unsigned int Bytes> struct room {
	volatile char bytes[Bytes];
	room() { bytes[0] = 1; }
	void leave() { bytes[Bytes - 1] = bytes[0]; }
};

using namespace std::chrono_literals;
using std::chrono::steady_clock;

const auto end_time = steady_clock::now() + 60s;

FRAME void nap()
{
	room<56> here;

	std::this_thread::sleep_for(1ms);
	here.leave();
}

/* ---- waits ---- */

FRAME int deferred(int n)
{
	nap();
	return n;
}

FRAME void async_waiter()
{
	auto result = std::async(std::launch::async, deferred, 3);

	if (result.get() != 3)
		std::abort();
}

std::mutex lock;
std::condition_variable changed;
unsigned int turn;

FRAME void condvar_waiter()
{
	std::unique_lock<std::mutex> guard(lock);
	unsigned int seen = turn;

	changed.wait(guard, [&] { return turn != seen; });
}

void condvar_signaller()
{
	while (steady_clock::now() < end_time) {
		nap();
		std::lock_guard<std::mutex> guard(lock);
		turn++;
		changed.notify_all();
	}
}

struct shape {
	virtual ~shape() = default;
	virtual int area(int n) = 0;
};

struct square : shape {
	FRAME int area(int n) override
	{
		nap();
		return n * n;
	}
};

FRAME int apply(const std::function<int(int)> &func)
{
	room<88> here;
	int result = func(4);

	here.leave();
	return result;
}

FRAME void virtual_caller()
{
	std::unique_ptr<shape> made = std::make_unique<square>();

	if (apply([&made](int n) { return made->area(n) + 1; }) != 17)
		std::abort();
}

/* ---- exceptions ---- */

struct guard {
	bool sleeps;
	FRAME ~guard()
	{
		if (sleeps)
			nap();
	}
};

FRAME void thrower(int depth, bool sleeps)
{
	guard on_the_way{ sleeps };
	room<40> here;

	if (depth == 1)
		throw std::runtime_error("thrown");
	thrower(depth - 1, sleeps);
	here.leave();
}

FRAME void catcher(bool sleeps)
{
	try {
		thrower(10, sleeps);
	} catch (const std::exception &) {
		nap();
		return;
	}
	std::abort();
}

void throw_caught()
{
	catcher(false);
}

void throw_inflight()
{
	catcher(true);
}

FRAME void outer(void (*func)())
{
	room<72> here;

	while (steady_clock::now() < end_time)
		func();
	here.leave();
}

const struct {
	const char *name;
	void (*func)();
} kinds[] = {
	{ "async", async_waiter }, { "condvar", condvar_waiter }, { "virtual", virtual_caller },
	{ "throw", throw_caught }, { "inflight", throw_inflight },
};

} // namespace

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	for (const auto &k : kinds) {
		if (std::strcmp(k.name, kind) != 0)
			continue;
		if (std::strcmp(kind, "condvar") == 0)
			std::thread(condvar_signaller).detach();
		std::printf("ready\n");
		std::fflush(stdout);
		outer(k.func);
		std::_Exit(0);
	}
	std::fprintf(stderr, "usage: frames-cxx async|condvar|virtual|throw|inflight\n");
	return 2;
}
