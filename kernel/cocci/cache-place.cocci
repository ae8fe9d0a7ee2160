// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/fair.c: load balancing asks what a process prefers.

@@
@@
 struct lb_env {
 	...
 	struct list_head tasks;
+	struct sched_cache_pass cache;
 };

@@
identifier can_migrate = can_migrate_task;
identifier p, env, hot;
@@
 can_migrate(struct task_struct *p, struct lb_env *env)
 {
 	...
 	hot = migrate_degrades_locality(p, env);
+	if (hot == -1 && sched_cache_favours(env, p))
+		hot = 0;
 	...
 }

@@
identifier caller = {detach_one_task, detach_tasks};
identifier p, env;
@@
 caller(...)
 {
 	<+...
-	!can_migrate_task(p, env)
+	!can_migrate_task(p, env) || sched_cache_refuses(env, p)
 	...+>
 }

@@
identifier detach_task = detach_task;
identifier p, env;
@@
 detach_task(struct task_struct *p, struct lb_env *env)
 {
 	...
 	set_task_cpu(p, env->dst_cpu);
+	sched_cache_moved(&env->cache, p);
 }

@@
identifier find = sched_balance_find_src_group;
identifier env, sds;
@@
 find(struct lb_env *env)
 {
 	<+...
 	init_sd_lb_stats(&sds);
+	sched_cache_begin(&env->cache);
 	...+>
 }

@@
identifier find = sched_balance_find_src_group;
identifier env;
@@
 find(struct lb_env *env)
 {
 	<+...
 	env->imbalance = 0;
-	return NULL;
+	return sched_cache_find_group(&env->cache, env->sd, env->cpus, env->dst_cpu, env->idle);
 	...+>
 }

@@
identifier find = sched_balance_find_src_rq;
identifier env, i;
@@
 find(struct lb_env *env, ...)
 {
 	...
 	int i;
+
+	/* Nothing is out of balance, but a thread is in another cache than its process prefers. */
+	if (sched_cache_stray(&env->cache)) {
+		env->migration_type = migrate_task;
+		env->imbalance = 1;
+		return sched_cache_stray(&env->cache);
+	}
 	...
 }

@@
identifier need_active_balance = need_active_balance;
identifier env, sd;
@@
 need_active_balance(struct lb_env *env)
 {
 	struct sched_domain *sd = env->sd;
+
+	if (sched_cache_stray(&env->cache))
+		return 1;
+	if (sched_cache_keeps(&env->cache, sd, env->src_rq, env->dst_cpu))
+		return 0;
 	...
 }

@@
identifier task_tick_fair = task_tick_fair;
identifier rq, curr;
@@
 task_tick_fair(struct rq *rq, struct task_struct *curr, ...)
 {
 	...
 	sched_cache_tick(rq, curr);
+	sched_cache_note_stray(rq, curr);
 	...
 }
