; Placement of workers on Linux; `pool.py` describes it. A CPU mask has one bit per CPU.

declare i32 @sched_getcpu()
declare i32 @pthread_getaffinity_np(ptr, i64, ptr)
declare i32 @pthread_setaffinity_np(ptr, i64, ptr)

; Return the number of the CPU that executes this thread, -1 if the system does not tell.
define internal i32 @tvms_cpu() {
  %cpu = call i32 @sched_getcpu()
  ret i32 %cpu
}

declare i64 @llvm.ctpop.i64(i64)

; Return the number of CPUs that this thread may use; 1 if the system does not tell.
define internal i32 @tvms_cpu_count() {
  %mask = alloca [16 x i64]
  %self = call ptr @pthread_self()
  %unread = call i32 @pthread_getaffinity_np(ptr %self, i64 128, ptr %mask)
  %is.read = icmp eq i32 %unread, 0
  br i1 %is.read, label %next, label %unknown

next:
  %word = phi i32 [ 0, %0 ], [ %word.next, %next ]
  %count = phi i64 [ 0, %0 ], [ %count.next, %next ]
  %bits.at = getelementptr i64, ptr %mask, i32 %word
  %bits = load i64, ptr %bits.at
  %set = call i64 @llvm.ctpop.i64(i64 %bits)
  %count.next = add i64 %count, %set
  %word.next = add i32 %word, 1
  %is.last = icmp eq i32 %word.next, 16
  br i1 %is.last, label %done, label %next

done:
  %result = trunc i64 %count.next to i32
  ret i32 %result

unknown:
  ret i32 1
}

; Remove %here, the CPU of the caller, from the mask of a worker that is on %cpu, if these are equal; return false if the mask has
; no other CPU. Either the worker itself calls this, or a thread that holds the lock while the worker sleeps.
define internal i1 @tvms_keep_away(ptr %worker, i32 %cpu, i32 %here) {
  %narrow = alloca [16 x i64]
  %is.same = icmp eq i32 %cpu, %here
  %is.counted = icmp ult i32 %here, 1024
  %is.close = and i1 %is.same, %is.counted
  br i1 %is.close, label %read, label %apart

read:
  %thread.at = getelementptr %worker, ptr %worker, i32 0, i32 1
  %thread = load ptr, ptr %thread.at
  %mask = getelementptr %worker, ptr %worker, i32 0, i32 5
  %unread = call i32 @pthread_getaffinity_np(ptr %thread, i64 128, ptr %mask)
  %is.read = icmp eq i32 %unread, 0
  br i1 %is.read, label %next, label %apart

next:                                                  ; without %here
  %word = phi i32 [ 0, %read ], [ %word.next, %next ]
  %others = phi i64 [ 0, %read ], [ %others.next, %next ]
  %old.at = getelementptr i64, ptr %mask, i32 %word
  %old = load i64, ptr %old.at
  %here.word = lshr i32 %here, 6
  %is.here = icmp eq i32 %word, %here.word
  %here.bit = and i32 %here, 63
  %wide = zext i32 %here.bit to i64
  %bit = shl i64 1, %wide
  %removed = select i1 %is.here, i64 %bit, i64 0
  %kept = xor i64 %removed, -1
  %new = and i64 %old, %kept
  %new.at = getelementptr i64, ptr %narrow, i32 %word
  store i64 %new, ptr %new.at
  %others.next = or i64 %others, %new
  %word.next = add i32 %word, 1
  %is.last = icmp eq i32 %word.next, 16
  br i1 %is.last, label %judge, label %next

judge:
  %is.alone = icmp eq i64 %others.next, 0
  br i1 %is.alone, label %stuck, label %set

set:
  %unset = call i32 @pthread_setaffinity_np(ptr %thread, i64 128, ptr %narrow)
  %is.set = icmp eq i32 %unset, 0
  %moved = zext i1 %is.set to i32
  %moved.at = getelementptr %worker, ptr %worker, i32 0, i32 4
  store i32 %moved, ptr %moved.at
  br label %apart

apart:
  ret i1 true

stuck:
  ret i1 false
}

; Restore the CPU mask of this worker if it was kept away from a CPU.
define internal void @tvms_restore(ptr %worker) {
  %moved.at = getelementptr %worker, ptr %worker, i32 0, i32 4
  %moved = load i32, ptr %moved.at
  %is.moved = icmp ne i32 %moved, 0
  br i1 %is.moved, label %restore, label %done

restore:
  store i32 0, ptr %moved.at
  %thread.at = getelementptr %worker, ptr %worker, i32 0, i32 1
  %thread = load ptr, ptr %thread.at
  %mask = getelementptr %worker, ptr %worker, i32 0, i32 5
  call i32 @pthread_setaffinity_np(ptr %thread, i64 128, ptr %mask)
  br label %done

done:
  ret void
}
