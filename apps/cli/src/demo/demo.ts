import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Rollcall, rollcallClient } from '#rollcall/client';
import { consoleLink } from '../connection/console.link.js';
import { CommandError, describeFailure } from '../failure.js';
import { DemoFleet } from './demo.processes.js';
import { DEMO_AGENTS, DEFINITIONS, DemoStory, exists, type Scene, type Stage } from './demo.story.js';
import { EventRecord } from './event.record.js';
import { SeededRandom } from './random.js';

const LOOP_SECONDS = 180;

export interface DemoOptions {
  readonly folder: string;
  readonly seed: number;
  readonly speed: number;
  readonly once: boolean;
  readonly reset: boolean;
}

/** A scene that was played. */
export interface PlayedScene {
  readonly time: string;
  readonly scene: string;
  readonly look: string;
  readonly result: 'ok' | 'failed';
  readonly detail: string | null;
}

/** What a person needs to look at the demo. */
export interface DemoAddress {
  readonly url: string;
  readonly keyFile: string;
  /** Signs in once, within a minute. */
  readonly console: string;
}

/** A real installation on data of its own: Postgres, two replicas and a dozen agents as processes, and a story that repeats. */
export class Demo {
  private readonly stopping = new AbortController();
  private readonly random: SeededRandom;
  private fleet: DemoFleet | undefined;
  private stage: Stage | undefined;
  private readonly startedAt = performance.now();

  constructor(private readonly options: DemoOptions) {
    this.random = new SeededRandom(options.seed);
  }

  /** The types of the events that have happened. */
  get types(): readonly string[] {
    return [...(this.stage?.events.types ?? [])].toSorted();
  }

  async start(): Promise<DemoAddress> {
    const { folder, reset } = this.options;
    if (reset) rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const keyFile = join(folder, 'admin.key');
    const adminKey = keyIn(keyFile);
    this.fleet = new DemoFleet(folder, adminKey);
    await this.fleet.startDatabase();
    const [url, secondUrl] = await Promise.all([
      this.fleet.startReplica('replica-1'),
      this.fleet.startReplica('replica-2'),
    ]);
    const rollcall = rollcallClient({ url, credential: adminKey });
    const events = new EventRecord(this.stopping.signal);
    const within = (namespace: string): Rollcall => rollcallClient({ url, credential: adminKey, namespace });
    void events.follow(within('*'));
    const second = rollcallClient({ url: secondUrl, credential: adminKey, retries: 0 });
    this.stage = {
      rollcall,
      within,
      second,
      secondPort: new URL(secondUrl).port,
      fleet: this.fleet,
      events,
      random: this.random,
    };
    await define(rollcall);
    await this.startAgents(rollcall, [url, secondUrl]);
    return { url, keyFile, console: (await consoleLink(rollcall, url)).link };
  }

  /** Plays the story, and yields each scene when it has ended. */
  async *play(signal: AbortSignal): AsyncGenerator<PlayedScene, void> {
    if (!this.stage) throw new Error('the demo has not started');
    for (let loop = 1; !signal.aborted; loop += 1) {
      const startedAt = performance.now();
      const { tracks } = new DemoStory(this.stage, loop);
      yield* merged(tracks.map((scenes) => this.playTrack(scenes, startedAt, signal)));
      if (this.options.once) return;
      await this.untilSecond(LOOP_SECONDS, startedAt, signal);
    }
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.fleet?.stop();
  }

  private async startAgents(rollcall: Rollcall, urls: readonly string[]): Promise<void> {
    const { key } = await rollcall.keys.issue({ name: 'demo agents', roles: ['operator'] });
    const after = this.stage?.events.position ?? 0;
    for (const [name, { capabilities, price, workMs, confirms = 'yes' }] of Object.entries(DEMO_AGENTS))
      this.fleet?.startAgent(name, {
        ROLLCALL_URLS: urls.join(' '),
        ROLLCALL_KEY: key,
        CAPABILITIES: capabilities,
        PRICE: price,
        WORK_MS: workMs,
        CONFIRMS: confirms,
      });
    for (const name of Object.keys(DEMO_AGENTS)) await this.stage?.events.until('agent.joined', name, after);
  }

  private async *playTrack(
    scenes: readonly Scene[],
    startedAt: number,
    signal: AbortSignal,
  ): AsyncGenerator<PlayedScene, void> {
    for (const { at, title, look, play } of scenes) {
      await this.untilSecond(at, startedAt, signal);
      if (signal.aborted) return;
      const time = clockText(performance.now() - this.startedAt);
      try {
        await play();
        yield { time, scene: title, look, result: 'ok', detail: null };
      } catch (error) {
        if (signal.aborted) return;
        yield { time, scene: title, look, result: 'failed', detail: describeFailure(error).error.message };
      }
    }
  }

  /** The speed shortens the pauses between scenes. */
  private async untilSecond(second: number, startedAt: number, signal: AbortSignal): Promise<void> {
    const ms = startedAt + (second * 1_000) / this.options.speed - performance.now();
    if (ms > 0) await delay(ms, undefined, { signal }).catch(() => {}); // an interruption ends the demo
  }
}

async function define({ definitions }: Rollcall): Promise<void> {
  for (const [name, content] of Object.entries(DEFINITIONS))
    if (!(await exists(definitions.get(name)))) await definitions.register({ name, content });
}

/** The key of the demo stays the same until `--reset`. */
function keyIn(file: string): string {
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(24).toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
  const key = readFileSync(file, 'utf8').trim();
  if (key.length < 32) throw new CommandError('KEY_INVALID', `${file} is damaged. Use --reset.`);
  return key;
}

function clockText(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** The items of several generators in the order of their arrival. */
async function* merged<Item>(sources: readonly AsyncGenerator<Item, void>[]): AsyncGenerator<Item, void> {
  const next = async (source: AsyncGenerator<Item, void>): Promise<[typeof source, IteratorResult<Item, void>]> => [
    source,
    await source.next(),
  ];
  const pending = new Map(sources.map((source) => [source, next(source)]));
  while (pending.size > 0) {
    const [source, result] = await Promise.race(pending.values());
    if (result.done === true) pending.delete(source);
    else {
      pending.set(source, next(source));
      yield result.value;
    }
  }
}
