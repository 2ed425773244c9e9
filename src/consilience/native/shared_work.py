"""Work that machine code of one thread shares with idle ones: `share` calls a function of 0, 1, …, count - 1.

Threads with nothing to do call `help`, which returns when they are called back. Without any, `share` is a loop. Nothing
here knows what is computed; who takes which number must not matter to it.

All state lies in one block of memory, in words of 64 bits. A work is posted in a slot, whose ticket holds how often the
slot was used (upper half) and how many numbers are left (lower half): who lowers it by one has taken a number, and
what was read before belongs to it. A thread without work sleeps on a lock of CPython, which any thread may release
and which needs no interpreter; whoever wakes it takes its flag first, so that a lock is released once per sleep.
"""

from __future__ import annotations

import ctypes
import functools
import threading
import time
from typing import Final

import numpy as np

from consilience.errors import NativeError
from consilience.native import jit
from consilience.native.target import host

PREFIX: Final = "consilience_helpers_"
# Works at a time, and threads that may help at a time. Further ones do without.
SLOTS: Final = 16
PLACES: Final = 256
# Words of the memory: how many threads help, how often they were called back, how many places were ever used, a lock
# that is never free; then slots of two cache lines and places of one.
HEAD, SLOT, PLACE = 32, 16, 8
# Looks for work before a thread sleeps: some 50 us, longer than what lies between two evaluations of a density.
LOOKS: Final = 400
# Microseconds of a sleep that nobody ends, and of a nap of who waits for the last numbers of its own work.
SLEEP, NAP = 100_000, 50

_PAUSE: Final = {"x86_64": ("llvm.x86.sse2.pause", ""), "aarch64": ("llvm.aarch64.hint", "i32 1")}


def _text() -> str:
    """The LLVM text."""
    pause, operand = _PAUSE.get(host().architecture, ("llvm.donothing", ""))
    declared = f"declare void @{pause}({operand.partition(' ')[0]})"
    rest = f"call void @{pause}({operand})"
    first_place = HEAD + SLOTS * SLOT
    return f"""
declare void @helpers_memory()
declare i32 @PyThread_acquire_lock_timed(ptr, i64, i32)
declare void @PyThread_release_lock(ptr)
{declared}

; Wakes all threads that sleep.
define internal void @wake() {{
entry:
  %used.at = getelementptr i64, ptr @helpers_memory, i64 16
  %used = load atomic i64, ptr %used.at acquire, align 8
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %after, %on ]
  %more = icmp ult i64 %i, %used
  br i1 %more, label %look, label %end
look:
  %word = mul i64 %i, {PLACE}
  %here = add i64 %word, {first_place}
  %flag = getelementptr i64, ptr @helpers_memory, i64 %here
  %sleeps = load atomic i64, ptr %flag seq_cst, align 8
  %asleep = icmp ne i64 %sleeps, 0
  br i1 %asleep, label %take, label %on
take:
  %had = atomicrmw xchg ptr %flag, i64 0 seq_cst
  %mine = icmp ne i64 %had, 0
  br i1 %mine, label %ring, label %on
ring:
  %bell.at = getelementptr i64, ptr %flag, i64 1
  %bell = load ptr, ptr %bell.at
  call void @PyThread_release_lock(ptr %bell)
  br label %on
on:
  %after = add i64 %i, 1
  br label %next
end:
  ret void
}}

define void @{PREFIX}call_back() {{
  %calls = getelementptr i64, ptr @helpers_memory, i64 8
  %before = atomicrmw add ptr %calls, i64 1 seq_cst
  call void @wake()
  ret void
}}

; Takes one number of the slot and does it; whether there was one.
define internal i1 @one(ptr %slot) {{
entry:
  %ticket = getelementptr i64, ptr %slot, i64 8
  br label %again
again:
  %seen = load atomic i64, ptr %ticket seq_cst, align 8
  %left = and i64 %seen, 4294967295
  %none = icmp eq i64 %left, 0
  br i1 %none, label %nothing, label %read
read:
  %function.at = getelementptr i64, ptr %slot, i64 1
  %context.at = getelementptr i64, ptr %slot, i64 2
  %function = load atomic ptr, ptr %function.at monotonic, align 8
  %context = load atomic ptr, ptr %context.at monotonic, align 8
  %less = sub i64 %seen, 1
  %pair = cmpxchg ptr %ticket, i64 %seen, i64 %less seq_cst seq_cst
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %work, label %again
work:
  %number = sub i64 %left, 1
  %status = call i64 %function(ptr %context, i64 %number)
  %status.at = getelementptr i64, ptr %slot, i64 3
  %done.at = getelementptr i64, ptr %slot, i64 4
  %old = atomicrmw or ptr %status.at, i64 %status monotonic
  %count = atomicrmw add ptr %done.at, i64 1 release
  ret i1 true
nothing:
  ret i1 false
}}

define i64 @{PREFIX}share(ptr %function, ptr %context, i64 %count) {{
entry:
  %present = load atomic i64, ptr @helpers_memory monotonic, align 8
  %alone = icmp eq i64 %present, 0
  br i1 %alone, label %loop, label %find
find:
  %j = phi i64 [ 0, %entry ], [ %j.after, %taken ]
  %word = mul i64 %j, {SLOT}
  %here = add i64 %word, {HEAD}
  %slot = getelementptr i64, ptr @helpers_memory, i64 %here
  %pair = cmpxchg ptr %slot, i64 0, i64 1 acquire monotonic
  %free = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %free, label %post, label %taken
taken:
  %j.after = add i64 %j, 1
  %full = icmp eq i64 %j.after, {SLOTS}
  br i1 %full, label %loop, label %find
post:
  %function.at = getelementptr i64, ptr %slot, i64 1
  %context.at = getelementptr i64, ptr %slot, i64 2
  %status.at = getelementptr i64, ptr %slot, i64 3
  %done.at = getelementptr i64, ptr %slot, i64 4
  %ticket = getelementptr i64, ptr %slot, i64 8
  store atomic ptr %function, ptr %function.at monotonic, align 8
  store atomic ptr %context, ptr %context.at monotonic, align 8
  store atomic i64 0, ptr %status.at monotonic, align 8
  store atomic i64 0, ptr %done.at monotonic, align 8
  %old = load atomic i64, ptr %ticket monotonic, align 8
  %uses = and i64 %old, -4294967296
  %more = add i64 %uses, 4294967296
  %new = or i64 %more, %count
  store atomic i64 %new, ptr %ticket seq_cst, align 8
  fence seq_cst
  call void @wake()
  br label %work
work:
  %did = call i1 @one(ptr %slot)
  br i1 %did, label %work, label %wait
wait:
  %looks = phi i64 [ 0, %work ], [ %looks.after, %on ]
  %done = load atomic i64, ptr %done.at acquire, align 8
  %all = icmp eq i64 %done, %count
  br i1 %all, label %end, label %rest
rest:
  {rest}
  %looks.after = add i64 %looks, 1
  %long = icmp ugt i64 %looks, 2000
  br i1 %long, label %nap, label %on
nap:
  %never.at = getelementptr i64, ptr @helpers_memory, i64 24
  %never = load ptr, ptr %never.at
  %got = call i32 @PyThread_acquire_lock_timed(ptr %never, i64 {NAP}, i32 0)
  br label %on
on:
  br label %wait
end:
  %status = load atomic i64, ptr %status.at monotonic, align 8
  store atomic i64 0, ptr %slot release, align 8
  ret i64 %status

loop:
  %i = phi i64 [ 0, %entry ], [ 0, %taken ], [ %i.after, %loop ]
  %so.far = phi i64 [ 0, %entry ], [ 0, %taken ], [ %both, %loop ]
  %own = call i64 %function(ptr %context, i64 %i)
  %both = or i64 %so.far, %own
  %i.after = add i64 %i, 1
  %over = icmp uge i64 %i.after, %count
  br i1 %over, label %through, label %loop
through:
  ret i64 %both
}}

; A slot of which numbers are to be had, or null.
define internal ptr @posted() {{
entry:
  br label %look
look:
  %j = phi i64 [ 0, %entry ], [ %j.after, %next ]
  %word = mul i64 %j, {SLOT}
  %here = add i64 %word, {HEAD}
  %slot = getelementptr i64, ptr @helpers_memory, i64 %here
  %ticket = getelementptr i64, ptr %slot, i64 8
  %seen = load atomic i64, ptr %ticket seq_cst, align 8
  %left = and i64 %seen, 4294967295
  %none = icmp eq i64 %left, 0
  br i1 %none, label %next, label %found
next:
  %j.after = add i64 %j, 1
  %last = icmp eq i64 %j.after, {SLOTS}
  br i1 %last, label %nothing, label %look
found:
  ret ptr %slot
nothing:
  ret ptr null
}}

; Works from the place of this number until helpers were called back more often than `calls`; numbers that it did.
define i64 @{PREFIX}help(i64 %place, i64 %calls) {{
entry:
  %word = mul i64 %place, {PLACE}
  %here = add i64 %word, {first_place}
  %flag = getelementptr i64, ptr @helpers_memory, i64 %here
  %bell.at = getelementptr i64, ptr %flag, i64 1
  %bell = load ptr, ptr %bell.at
  %calls.at = getelementptr i64, ptr @helpers_memory, i64 8
  %in = atomicrmw add ptr @helpers_memory, i64 1 seq_cst
  br label %look
look:
  %looks = phi i64 [ 0, %entry ], [ 0, %found ], [ %looks, %some ], [ %looks.after, %idle ], [ 0, %woken ]
  %sum = phi i64 [ 0, %entry ], [ %sum.after, %found ], [ %sum, %some ], [ %sum, %idle ], [ %sum, %woken ]
  %now = load atomic i64, ptr %calls.at seq_cst, align 8
  %stay = icmp eq i64 %now, %calls
  br i1 %stay, label %search, label %leave
search:
  %slot = call ptr @posted()
  %none = icmp eq ptr %slot, null
  br i1 %none, label %empty, label %some
some:
  %did = call i1 @one(ptr %slot)
  br i1 %did, label %found, label %look
found:
  %sum.after = add i64 %sum, 1
  br label %look
empty:
  %looks.after = add i64 %looks, 1
  %tired = icmp uge i64 %looks.after, {LOOKS}
  br i1 %tired, label %raise, label %idle
idle:
  {rest}
  br label %look
raise:
  ; The flag first, then another look: who posts later sees it.
  store atomic i64 1, ptr %flag seq_cst, align 8
  fence seq_cst
  %calls.then = load atomic i64, ptr %calls.at seq_cst, align 8
  %called = icmp ne i64 %calls.then, %calls
  %slot.then = call ptr @posted()
  %work = icmp ne ptr %slot.then, null
  %due = or i1 %called, %work
  br i1 %due, label %late, label %sleep
sleep:
  %got = call i32 @PyThread_acquire_lock_timed(ptr %bell, i64 {SLEEP}, i32 0)
  %rung = icmp eq i32 %got, 1
  br i1 %rung, label %woken, label %late
late:
  %was = atomicrmw xchg ptr %flag, i64 0 seq_cst
  %still = icmp ne i64 %was, 0
  br i1 %still, label %woken, label %owed
owed:
  %paid = call i32 @PyThread_acquire_lock_timed(ptr %bell, i64 -1, i32 0)
  br label %woken
woken:
  br label %look
leave:
  %out = atomicrmw sub ptr @helpers_memory, i64 1 seq_cst
  ret i64 %sum
}}
"""


class _Native:
    """The compiled functions, and their memory, which threads of a process that ends may still look at."""

    def __init__(self) -> None:
        words = np.zeros(HEAD + SLOTS * SLOT + PLACES * PLACE + 8, np.int64)
        first = -words.ctypes.data % 64 // 8
        self.words = words[first:]
        _keep(words)
        self.words[24] = _taken_lock()
        names = [PREFIX + name for name in ("share", "help", "call_back")]
        self.library = jit.load(_text(), names, {"helpers_memory": self.words.ctypes.data})
        self.help = self.library.function(PREFIX + "help", ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        self.call_back = self.library.function(PREFIX + "call_back", None)
        self.free: list[int] = []
        self.used = 0
        self.lock = threading.Lock()

    def place(self) -> int | None:
        """A place for one thread, with a lock to sleep on; None where all are taken."""
        with self.lock:
            if self.free:
                return self.free.pop()
            if self.used == PLACES:
                return None
            place = self.used
            self.words[HEAD + SLOTS * SLOT + PLACE * place + 1] = _taken_lock()
            self.used += 1
            self.words[16] = self.used
            return place


_native = functools.cache(_Native)


def _keep(thing: object) -> None:
    """A reference that is never given back."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _taken_lock() -> int:
    """A new lock of CPython that is taken: who takes it again sleeps."""
    allocate, take = ctypes.pythonapi.PyThread_allocate_lock, ctypes.pythonapi.PyThread_acquire_lock
    allocate.restype, allocate.argtypes = ctypes.c_void_p, []
    take.restype, take.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_int]
    lock: int | None = allocate()
    if not lock:
        raise NativeError("the system has no further lock for a thread to sleep on.")
    take(lock, 1)
    return lock


def library(symbol: str) -> jit.Library:
    """The machine code that defines a symbol with the prefix."""
    return _native().library


class IdleThreads:
    """Idle threads of one pool; any number of pools may be there, and each helps all."""

    def __init__(self) -> None:
        self._native = _native()

    @property
    def calls(self) -> int:
        """How often helpers were called back so far: what `help` is to be given."""
        return int(self._native.words[8])

    def help(self, calls: int) -> int:
        """Take part in what other threads share until helpers are called back, without the interpreter's lock.

        calls     as it was when this thread saw that it has nothing else to do: it returns at once if it is another now
        returns   how many numbers this thread did
        """
        place = self._native.place()
        if place is None:
            while self.calls == calls:
                time.sleep(0.001)
            return 0
        try:
            return int(self._native.help(place, calls))
        finally:
            with self._native.lock:
                self._native.free.append(place)

    def call_back(self) -> None:
        """Have all threads return that help, of whichever pool: each looks whether there is something else to do."""
        self._native.call_back()
