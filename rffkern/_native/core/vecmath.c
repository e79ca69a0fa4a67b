/* One instruction set of the vector math: VM_LEVEL names it, the compiler flags make it. */
#include "vecmath.h"
#include "polynomials.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LOG2E 1.4426950408889634
#define LN2 0.6931471805599453

/* Adam's decay rates, and what keeps its divisor from 0 (Kingma and Ba, 2014). */
#define MEAN_DECAY 0.9
#define SQUARE_DECAY 0.999
#define SMALLEST_ROOT 1e-8

#include "vecmath_tile.h"

#define VM_DOUBLE
#include "vecmath_tile.h"
