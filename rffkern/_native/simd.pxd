"""Tables of vector math functions, one per precision, for the level chosen at import.

The C names are those that vecmath.h looks for; `tiles.pxd` declares the functions, `forms.pxd` those of columns,
`boost_rows.pxd` and `cells.pxd` those of boosting, `products.pxd` those of explanations.  `team` has the threads of all
parallel loops: a module with a `prange` calls use_team(team) when it is imported.
"""

cdef extern from "vecmath.h" nogil:
    ctypedef struct vecmath_f32:
        pass
    ctypedef struct vecmath_f64:
        pass

cdef extern from "forms.h" nogil:
    ctypedef struct vm_forms_table:
        pass

cdef extern from "boost_rows.h" nogil:
    ctypedef struct vb_table:
        pass

cdef extern from "trees.h" nogil:
    ctypedef struct vm_trees_table:
        pass

cdef extern from "products.h" nogil:
    ctypedef struct vx_table:
        pass

cdef extern from "team.h" nogil:
    ctypedef struct team_functions:
        pass
    void use_team(const team_functions *functions) noexcept

cdef const team_functions *team
cdef const vecmath_f32 *table_f32 "vm_f32"
cdef const vecmath_f64 *table_f64 "vm_f64"
cdef const vm_forms_table *table_forms "vm_forms"
cdef const vb_table *table_boost "vm_boost"
cdef const vm_trees_table *table_trees "vm_trees"
cdef const vx_table *table_explain "vm_explain"
