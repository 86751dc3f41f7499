// SPDX-License-Identifier: GPL-2.0-or-later
/* As typed.c, for what C has not: test_types.c has the list. */
#include <cstdio>

#ifdef __clang__
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noinline, noclone))
#endif

namespace shop {

struct Base {
	virtual ~Base() = default;
	long stock = 1;
};

struct Item : Base {
	int price = 2;
	Item *next = nullptr;
};

template <typename T> struct Box {
	T *content;
	int size;

	ALONE int bigger() const { return size + 1; }
};

ALONE long read_derived(const Item &item)
{
	return item.price;
}

ALONE long read_base(const Item &item)
{
	return item.stock;
}

ALONE long read_box(Box<Item> &box)
{
	return box.content->next->price;
}

} // namespace shop

int main(int argc, char **)
{
	shop::Item item;
	shop::Box<shop::Item> box{&item, argc};

	item.next = &item;
	std::printf("%ld\n", read_derived(item) + read_base(item) + read_box(box) + box.bigger());
	return 0;
}
