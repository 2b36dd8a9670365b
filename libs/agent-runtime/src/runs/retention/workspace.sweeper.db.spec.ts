import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { textPart } from '#rollcall/providers';
import type { Run } from '../run.js';
import { ended, RunsWorld } from '../../testing/runs.world.js';
import { DEFAULT_TOOLS_OPTIONS } from '../../tools/tools.options.js';
import { WorkspaceStore } from '../../tools/workspace/workspace.store.js';
import { type WorkspaceKey, Workspaces } from '../../tools/workspace/workspaces.js';
import { WorkspaceSweeper } from './workspace.sweeper.js';

let world: RunsWorld;
let root: string;
beforeEach(async () => {
  world = await RunsWorld.create();
  root = mkdtempSync(join(tmpdir(), 'workspaces-'));
});
afterEach(async () => {
  await world.end();
  rmSync(root, { recursive: true, force: true });
});

describe('the sweep of workspaces', () => {
  it('S4.10 deletes the workspaces of runs that were deleted or redacted, and nothing else', async () => {
    world.gate.resolve();
    const one = await world.replica({ redactAfterMs: 0 });
    const workspaces = new Workspaces({ ...DEFAULT_TOOLS_OPTIONS, workspaces: { root } });
    const sweeper = new WorkspaceSweeper(workspaces, new WorkspaceStore(world.database.db));
    const run = await ended(one, await one.run('looker'));
    const kept = { namespace: 'default', workspaceId: run.id };
    const deleted = { namespace: 'default', workspaceId: 'd'.repeat(32) };
    for (const key of [kept, deleted]) await (await workspaces.of(key)).write('a/b.txt', 'x');
    mkdirSync(join(root, 'notes of the operator'));
    for (const name of ['postgres', 'base-16384', 'deadbeef']) mkdirSync(join(root, 'data', name), { recursive: true });
    writeFileSync(join(root, 'default', 'notes.txt'), 'x');
    expect(await sweeper.sweep()).toBe(1);
    expect(readdirSync(join(root, 'default')).toSorted()).toEqual([run.id, 'notes.txt'].toSorted());
    expect(await one.redactor.redact()).toBe(1);
    expect(await sweeper.sweep()).toBe(1);
    expect(readdirSync(join(root, 'default'))).toEqual(['notes.txt']);
    expect(readdirSync(root).toSorted()).toEqual(['data', 'default', 'notes of the operator']);
    expect(readdirSync(join(root, 'data'))).toHaveLength(3);
  });

  it('S2.10 S4.10 keeps the workspace of a conversation while one of its runs has contents', async () => {
    world.gate.resolve();
    const one = await world.replica({ redactAfterMs: 0 });
    const workspaces = new Workspaces({ ...DEFAULT_TOOLS_OPTIONS, workspaces: { root } });
    const store = new WorkspaceStore(world.database.db);
    const sweeper = new WorkspaceSweeper(workspaces, store);
    const place = { namespace: 'default', target: { definition: 'looker' }, by: 'owner', input: [textPart('look')] };
    const start = async (conversationId: string): Promise<Run> =>
      await ended(one, await one.runs.start({ ...place, conversationId }));
    const first = await start('chat');
    const key = await store.of(first);
    expect(key.workspaceId).not.toBe(first.id);
    await (await workspaces.of(key)).write('a.txt', 'x');
    expect(await one.redactor.redact()).toBe(1);
    const second = await start('chat');
    expect(await store.of(second)).toEqual(key);
    expect(await sweeper.sweep()).toBe(0);
    await one.conversations.remove(
      { namespace: 'default', id: 'chat', by: 'owner' },
      { by: 'owner', mayManage: false },
    );
    expect(await one.redactor.redact()).toBe(1);
    expect(await sweeper.sweep()).toBe(1);
    expect(await store.of(await start('chat'))).not.toEqual(key);
  });

  it('S4.10 deletes the others if one cannot be deleted, and reports it', async () => {
    const [first, stuck, last] = ['a', 'b', 'c'].map((digit) => digit.repeat(32));
    class OneIsStuck extends Workspaces {
      override async remove(key: WorkspaceKey): Promise<void> {
        if (key.workspaceId === stuck) throw new Error('it is in use');
        await super.remove(key);
      }
    }
    const workspaces = new OneIsStuck({ ...DEFAULT_TOOLS_OPTIONS, workspaces: { root } });
    for (const workspaceId of [first, stuck, last])
      await (await workspaces.of({ namespace: 'default', workspaceId })).write('x', 'x');
    const sweeper = new WorkspaceSweeper(workspaces, new WorkspaceStore(world.database.db));
    await expect(sweeper.sweep()).rejects.toThrow('could not be deleted: 1. The first error: Error: it is in use');
    expect(readdirSync(join(root, 'default'))).toEqual([stuck]);
  });

  it('S4.10 does nothing without workspaces', async () => {
    expect(
      await new WorkspaceSweeper(new Workspaces(DEFAULT_TOOLS_OPTIONS), new WorkspaceStore(world.database.db)).sweep(),
    ).toBe(0);
  });
});
