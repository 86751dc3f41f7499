// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
void cp_probe(struct vm_area_struct *vma);
void cp_probe(struct vm_area_struct *vma)
{
	vm_flags_clear(vma, VM_MAYWRITE);
}
