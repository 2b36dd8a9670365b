import { Worker } from 'node:worker_threads';
import type { SchemaJob, SchemaReply } from './schema.thread.js';

const THREADS = 2;
/** How long one job may take. A usual schema takes a few milliseconds. */
const BUDGET_MS = 1_000;
const START_MS = 60_000;
/** A thread that needs more memory ends, and its job counts as too expensive. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };
/** The file has another suffix before it is compiled. */
const PROGRAM = new URL(`./schema.thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

/** The job used up its time or its memory, so its thread was ended. */
export class SchemaBudgetError extends Error {
  override readonly name = 'SchemaBudgetError';

  constructor() {
    super('it takes too much time or memory');
  }
}

interface QueuedJob {
  readonly job: SchemaJob;
  readonly group: string;
  resolve(reply: SchemaReply): void;
  reject(error: Error): void;
}

/**
 * Threads that work with the JSON Schemas of users and third parties, so that no schema can block the event loop (S-2). A job that
 * exceeds its budget of time or memory ends its thread; the next job starts a new one. Jobs wait in a queue for each group, such as a
 * namespace, and a group has at most one job in progress: an expensive schema delays only the jobs of its own group.
 */
export class SchemaThreads {
  private readonly queues = new Map<string, QueuedJob[]>();
  private readonly busyGroups = new Set<string>();
  private readonly idle: SchemaThread[] = [];
  private running = 0;

  async run(job: SchemaJob, group: string): Promise<SchemaReply> {
    return await new Promise((resolve, reject) => {
      const queue = this.queues.get(group) ?? [];
      queue.push({ job, group, resolve, reject });
      this.queues.set(group, queue);
      this.startNext();
    });
  }

  private startNext(): void {
    while (this.running < THREADS) {
      const next = this.take();
      if (!next) return;
      void this.execute(next);
    }
  }

  /** The first job of the group that has waited longest, among the groups without a job in progress. */
  private take(): QueuedJob | undefined {
    for (const [group, queue] of this.queues) {
      if (this.busyGroups.has(group)) continue;
      const next = queue.shift();
      this.queues.delete(group);
      if (queue.length > 0) this.queues.set(group, queue); // behind the other groups
      if (next) return next;
    }
    return undefined;
  }

  private async execute({ job, group, resolve, reject }: QueuedJob): Promise<void> {
    this.running += 1;
    this.busyGroups.add(group);
    let thread: SchemaThread | undefined;
    try {
      thread = this.takeThread();
      resolve(await thread.run(job));
    } catch (error) {
      reject(error as Error);
    } finally {
      if (thread?.isUsable) this.idle.push(thread);
      this.running -= 1;
      this.busyGroups.delete(group);
      this.startNext();
    }
  }

  /** An idle thread can have ended, for example when it reached its memory limit after its last reply. */
  private takeThread(): SchemaThread {
    for (let thread = this.idle.pop(); thread; thread = this.idle.pop()) if (thread.isUsable) return thread;
    return new SchemaThread();
  }
}

/** One thread. After its start, it does not keep the process alive. */
class SchemaThread {
  isUsable = true;
  private readonly worker = new Worker(PROGRAM, { resourceLimits: RESOURCE_LIMITS, env: {}, execArgv: [], argv: [] });
  private readonly ready: Promise<unknown>;
  private settle?: { resolve(reply: unknown): void; reject(error: Error): void };

  constructor() {
    this.worker.on('message', (reply: unknown) => this.settle?.resolve(reply));
    this.worker.on('error', (error) => this.fail(isOutOfMemory(error) ? new SchemaBudgetError() : error));
    this.ready = this.reply(START_MS, new Error(`A thread for schemas did not start within ${START_MS} ms.`));
    this.ready.then(
      () => this.worker.unref(), // has no effect before the thread runs
      () => undefined, // `run` awaits it
    );
  }

  async run(job: SchemaJob): Promise<SchemaReply> {
    await this.ready;
    const reply = this.reply(BUDGET_MS, new SchemaBudgetError());
    this.worker.postMessage(job, []);
    return (await reply) as SchemaReply;
  }

  private async reply(withinMs: number, late: Error): Promise<unknown> {
    const answered = Promise.withResolvers<unknown>();
    this.settle = answered;
    // After a pause of this process, the timer fires before the reply that has already arrived is read. `setImmediate` reads it first.
    const timer = setTimeout(() => setImmediate(() => this.settle && this.fail(late)), withinMs);
    try {
      return await answered.promise;
    } finally {
      this.settle = undefined;
      clearTimeout(timer);
    }
  }

  private fail(error: Error): void {
    this.isUsable = false;
    this.settle?.reject(error);
    void this.worker.terminate();
  }
}

function isOutOfMemory(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'ERR_WORKER_OUT_OF_MEMORY';
}
