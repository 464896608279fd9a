// Improves all prices at once, as far as that is faster than to send points along paths one by one.
#pragma once

#include "placement_choices.hpp"

namespace eulermeans {

// Choices are those at the new prices. If `alone`, no paths follow, so it goes on while it helps at all.
template <class T>
void improve_prices(Choices<T> &choices, bool alone);

}  // namespace eulermeans
