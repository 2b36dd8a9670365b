import { EventEmitter } from 'node:events';
import type { FSWatcher, watch } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expectNoOpenResources, openResources } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import type { SpecReport } from './spec.loader.js';
import { SpecWatcher, type WatchOptions } from './spec.watcher.js';

let before: Map<string, number>;
let folder: string;
let watcher: SpecWatcher;
let reports: SpecReport[];
let errors: unknown[];

beforeEach(async () => {
  before = openResources();
  folder = await mkdtemp(join(tmpdir(), 'watched-'));
  reports = [];
  errors = [];
});
afterEach(async () => {
  await watcher.close();
  await rm(folder, { recursive: true, force: true });
  await expectNoOpenResources(before);
});

async function start(options: Partial<WatchOptions> = {}): Promise<void> {
  watcher = new SpecWatcher(folder, {
    onReport: (report) => void reports.push(report),
    onError: (error) => void errors.push(error),
    debounceMs: 5,
    ...options,
  });
  await watcher.start();
}

const text = (name: string): string => `---\nname: ${name}\ndescription: About ${name}.\n---\nYou are ${name}.\n`;
const write = async (file: string, name: string): Promise<void> => await writeFile(join(folder, file), text(name));
const lastNames = (): string => (reports.at(-1)?.loaded ?? []).map(({ name }) => name).join();
async function expectNames(names: string): Promise<void> {
  await until(`the loaded specs are ${names}`, () => lastNames() === names);
}
const refuses: typeof watch = () => {
  throw Object.assign(new Error('no more watches'), { code: 'ENOSPC' });
};

describe('S4.2 watching a folder of specs', () => {
  it('reports the specs at the start, and new, changed and removed files', async () => {
    await write('a.md', 'a');
    await start();
    expect(lastNames()).toBe('a');
    await write('b.md', 'b');
    await expectNames('a,b');
    await write('b.md', 'c');
    await expectNames('a,c');
    await rm(join(folder, 'a.md'));
    await expectNames('c');
  });

  it('reports files in new folders', async () => {
    await start();
    await mkdir(join(folder, 'team'));
    await write('team/a.md', 'a');
    await expectNames('a');
    await write('team/a.md', 'b');
    await expectNames('b');
    expect(reports.at(-1)?.loaded[0]?.file).toBe('team/a.md');
  });

  it('continues after the folder was removed and created again', async () => {
    await write('a.md', 'a');
    await start({ pollMs: 5 });
    await rm(folder, { recursive: true });
    await expectNames('');
    await mkdir(folder);
    await write('b.md', 'b');
    await expectNames('b');
    await write('b.md', 'c');
    await expectNames('c');
    expect(errors).toEqual([]);
  });

  it.each([
    ['refuses to watch', { watch: refuses }],
    ['fails later', { watch: failing }],
  ])('loads in intervals if the system %s', async (_what, options) => {
    await start({ ...options, pollMs: 5 });
    await write('a.md', 'a');
    await expectNames('a');
    await write('a.md', 'b');
    await expectNames('b');
    expect(errors).toEqual([]);
  });

  it('reports nothing if the result is the same', async () => {
    await write('a.md', 'a');
    await start();
    await write('notes.txt', 'x');
    await watcher.load();
    await watcher.load();
    expect(reports).toHaveLength(1);
  });

  it('reports an error of the receiver, and delivers the report again', async () => {
    await write('a.md', 'a');
    let calls = 0;
    await start({
      onReport: (report) => {
        calls += 1;
        if (calls === 1) throw new Error('the store is not available');
        reports.push(report);
      },
    });
    expect(errors).toEqual([new Error('the store is not available')]);
    await watcher.load();
    expect(lastNames()).toBe('a');
  });

  it('waits in close() for the report in progress, and delivers no further report', async () => {
    let release = (): void => undefined;
    const blocked = new Promise<void>((resolve) => void (release = resolve));
    watcher = new SpecWatcher(folder, {
      onReport: async (report) => {
        reports.push(report);
        await blocked;
      },
      onError: (error) => void errors.push(error),
    });
    const started = watcher.start();
    await until('the first report is in progress', () => reports.length === 1);
    let isClosed = false;
    const closed = watcher.close().then(() => void (isClosed = true));
    await write('a.md', 'a');
    expect(isClosed).toBe(false);
    release();
    await Promise.all([started, closed]);
    await watcher.load();
    expect(reports).toHaveLength(1);
  });
});

/** A watcher that emits an error once it is in use. */
function failing(): FSWatcher {
  const fake = Object.assign(new EventEmitter(), { close: () => undefined });
  setImmediate(() => fake.emit('error', new Error('lost')));
  return fake as unknown as FSWatcher;
}
