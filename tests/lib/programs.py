# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""What the kernel says of a loaded BPF program: its name and how many instructions the verifier went through.

bpftool doesn't print the latter, so bpf(2) is asked. The layout is that of struct bpf_prog_info in <linux/bpf.h>.
"""
import ctypes
import errno
import os
import platform

CALL = {'x86_64': 321, 'aarch64': 280}
PROG_GET_FD_BY_ID, OBJ_GET_INFO_BY_FD = 13, 15
U32, U64 = ctypes.c_uint32, ctypes.c_uint64


class ProgInfo(ctypes.Structure):
    _fields_ = [
        ('type', U32), ('id', U32), ('tag', ctypes.c_ubyte * 8), ('jited_prog_len', U32), ('xlated_prog_len', U32),
        ('jited_prog_insns', U64), ('xlated_prog_insns', U64), ('load_time', U64), ('created_by_uid', U32),
        ('nr_map_ids', U32), ('map_ids', U64), ('name', ctypes.c_char * 16), ('ifindex', U32), ('flags', U32),
        ('netns_dev', U64), ('netns_ino', U64), ('nr_jited_ksyms', U32), ('nr_jited_func_lens', U32),
        ('jited_ksyms', U64), ('jited_func_lens', U64), ('btf_id', U32), ('func_info_rec_size', U32),
        ('func_info', U64), ('nr_func_info', U32), ('nr_line_info', U32), ('line_info', U64),
        ('jited_line_info', U64), ('nr_jited_line_info', U32), ('line_info_rec_size', U32),
        ('jited_line_info_rec_size', U32), ('nr_prog_tags', U32), ('prog_tags', U64), ('run_time_ns', U64),
        ('run_cnt', U64), ('recursion_misses', U64), ('verified_insns', U32)]


class ById(ctypes.Structure):
    _fields_ = [('id', U32), ('next_id', U32), ('open_flags', U32)]


class ByFd(ctypes.Structure):
    _fields_ = [('fd', U32), ('info_len', U32), ('info', U64)]


def bpf(command, attr):
    libc = ctypes.CDLL(None, use_errno=True)
    r = libc.syscall(ctypes.c_long(CALL[platform.machine()]), ctypes.c_long(command), ctypes.byref(attr),
                     ctypes.c_long(ctypes.sizeof(attr)))
    if r < 0:
        raise OSError(ctypes.get_errno(), 'bpf(%d): %s' % (command, os.strerror(ctypes.get_errno())))
    return r


def verified_insns(prog_id):
    """(name, instructions). None if it is gone; the number is None before Linux 5.16."""
    try:
        fd = bpf(PROG_GET_FD_BY_ID, ById(id=prog_id))
    except OSError as e:
        if e.errno == errno.ENOENT:
            return None
        raise
    try:
        info = ProgInfo()
        attr = ByFd(fd=fd, info_len=ctypes.sizeof(info), info=ctypes.addressof(info))
        bpf(OBJ_GET_INFO_BY_FD, attr)
        if info.id != prog_id:
            raise ValueError('asked for program %d, told of %d' % (prog_id, info.id))
        known = attr.info_len >= ProgInfo.verified_insns.offset + 4
        return info.name.decode(), info.verified_insns if known else None
    finally:
        os.close(fd)
