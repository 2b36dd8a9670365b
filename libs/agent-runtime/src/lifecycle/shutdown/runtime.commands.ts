import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { BackgroundFaults, Periodic, PgListener, StopsIn } from '#rollcall/platform';
import { AgentHost } from '../agent.host.js';
import {
  COMMAND_CHANNEL,
  RESULT_CHANNEL,
  type RuntimeCommand,
  RuntimeCommandStore,
  type ShutdownResults,
  type TakenCommand,
} from './runtime-command.store.js';

type Handler = (command: RuntimeCommand, limitMs: number) => Promise<ShutdownResults>;

/** A notification may be lost; then this pass finds the command or the result. */
const PASS_EVERY_MS = 1_000;
/** The share of the remaining time that the other replica uses. The rest is for its answer. */
const USABLE_SHARE = 0.8;

/** Sends commands to other replicas through Postgres, and executes the commands for this replica. */
@Injectable()
export class RuntimeCommands {
  private readonly waiting = new Map<string, (result: ShutdownResults) => void>();
  private readonly executing = new Set<Promise<void>>();
  private handler?: Handler;

  constructor(
    private readonly store: RuntimeCommandStore,
    private readonly host: AgentHost,
    listener: PgListener,
    private readonly faults: BackgroundFaults,
  ) {
    const report = (error: unknown): void => faults.report('runtime.commands', error);
    listener.on(COMMAND_CHANNEL, (replicaId) => {
      if (replicaId === host.replicaId) this.execute().catch(report);
    });
    listener.on(RESULT_CHANNEL, (id) => {
      if (this.waiting.has(id)) this.collect(id).catch(report);
    });
  }

  /** Sets the function that executes commands. */
  onCommand(handler: Handler): void {
    this.handler = handler;
  }

  /** The result of the other replica; undefined if it did not answer in time. */
  async send(replicaId: string, command: RuntimeCommand, limitMs: number): Promise<ShutdownResults | undefined> {
    const { promise, resolve } = Promise.withResolvers<ShutdownResults | undefined>();
    const id = randomUUID();
    this.waiting.set(id, resolve);
    const timer = setTimeout(() => resolve(undefined), limitMs).unref();
    try {
      await this.store.send(id, replicaId, command, limitMs);
      return await promise;
    } finally {
      clearTimeout(timer);
      this.waiting.delete(id);
    }
  }

  @Periodic('runtime.commands', PASS_EVERY_MS)
  async pass(): Promise<void> {
    await this.execute();
    await Promise.all([...this.waiting.keys()].map(async (id) => await this.collect(id)));
  }

  @Periodic('runtime.commands-prune', 60_000)
  async prune(): Promise<void> {
    await this.store.prune();
  }

  /** Waits for the commands in progress, so that their results are stored. */
  @StopsIn('writes')
  async idle(): Promise<void> {
    await Promise.all(this.executing);
  }

  private async execute(): Promise<void> {
    for (const taken of await this.store.take(this.host.replicaId)) {
      const work = this.run(taken).catch((error: unknown) => this.faults.report('runtime.commands', error));
      this.executing.add(work);
      void work.finally(() => this.executing.delete(work));
    }
  }

  private async run({ id, command, remainingMs }: TakenCommand): Promise<void> {
    const result = (await this.handler?.(command, remainingMs * USABLE_SHARE)) ?? {};
    await this.store.answer(id, result);
  }

  private async collect(id: string): Promise<void> {
    const result = await this.store.resultOf(id);
    if (result) this.waiting.get(id)?.(result);
  }
}
