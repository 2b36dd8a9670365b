import { randomUUID } from 'node:crypto';
import { type PushFaults, pushFaultsOf } from './push.check.js';
import { PUSH_TOKEN, type PushReceiver } from './push.receiver.js';
import type { StormReplicas } from './replicas.js';
import { ANSWER } from './storm.model.js';
import { Subscriber } from './subscriber.js';
import { faultsOf, type StreamFaults } from './task.check.js';
import type { SentTask } from './task.events.js';

const SUBSCRIBERS = 3;
const AGENT = '/a2a/agents/storm';

/** The callers of tasks. The first subscriber that receives the question of a task answers it. */
export class StormTasks {
  private readonly subscribers: Subscriber[][] = [];
  private readonly ids: string[] = [];
  private readonly open = new Set<Promise<unknown>>();
  private readonly headers: Record<string, string>;

  constructor(
    private readonly replicas: StormReplicas,
    private readonly receiver: PushReceiver,
    key: string,
  ) {
    this.headers = { authorization: `Bearer ${key}`, 'a2a-version': '1.0' };
  }

  get size(): number {
    return this.subscribers.length;
  }

  /** The tasks that are not finished for all their subscribers. */
  get unfinished(): number {
    return this.open.size;
  }

  /** How often a subscriber connected again. */
  get reconnections(): number {
    return this.subscribers.flat().reduce((sum, { connections }) => sum + Math.max(0, connections.length - 1), 0);
  }

  async define(): Promise<void> {
    const model = { vendor: 'storm', model: 'storm' };
    const content = { description: 'Works.', instructions: 'Work.', tools: ['clock'], mayAsk: true, model };
    await this.replicas.post('/v1/definitions', { name: 'storm', content }, this.headers);
  }

  /** Starts tasks until as many are open as wanted. */
  async fill(wanted: number): Promise<void> {
    const missing = Math.max(0, wanted - this.open.size);
    await Promise.all(Array.from({ length: missing }, async () => await this.start()));
  }

  /** Waits until all tasks are finished for all subscribers. */
  async settled(): Promise<void> {
    await Promise.all(this.open);
  }

  pushFaults(): PushFaults {
    return pushFaultsOf(this.ids.map((id) => this.receiver.receivedFor(id)));
  }

  faults(): StreamFaults {
    const all = this.subscribers.map(faultsOf);
    return {
      repeated: all.reduce((sum, one) => sum + one.repeated, 0),
      missed: all.reduce((sum, one) => sum + one.missed, 0),
      others: all.flatMap(({ others }) => others),
    };
  }

  private async start(): Promise<void> {
    const push = { url: this.receiver.url, token: PUSH_TOKEN };
    const { id } = await this.send({ text: 'Read the clock.' }, { taskPushNotificationConfig: push });
    this.ids.push(id);
    const protocol = { path: AGENT, headers: this.headers };
    const subscribers = Array.from(
      { length: SUBSCRIBERS },
      (_none, index) => new Subscriber(this.replicas, protocol, id, index % 2 === 0),
    );
    this.subscribers.push(subscribers);
    let answer: Promise<unknown> | undefined;
    const following = subscribers.map(async (one) => {
      await one.follow(({ state }) => {
        if (state === 'TASK_STATE_INPUT_REQUIRED') answer ??= this.send({ text: ANSWER, taskId: id });
      });
    });
    const over = Promise.all(following).then(async () => await answer);
    this.open.add(over);
    void over.then(() => this.open.delete(over));
  }

  private async send({ text, taskId }: { text: string; taskId?: string }, more: object = {}): Promise<SentTask> {
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...(taskId && { taskId }) };
    const body = { message, configuration: { returnImmediately: true, ...more } };
    return ((await this.replicas.post(`${AGENT}/message:send`, body, this.headers)) as { task: SentTask }).task;
  }
}
