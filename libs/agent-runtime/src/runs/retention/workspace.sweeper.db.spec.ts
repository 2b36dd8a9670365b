import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ended, RunsWorld } from '../../testing/runs.world.js';
import { DEFAULT_TOOLS_OPTIONS } from '../../tools/tools.options.js';
import { Workspaces } from '../../tools/workspace/workspaces.js';
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
    const sweeper = new WorkspaceSweeper(workspaces, one.store);
    const run = await ended(one, await one.run('looker'));
    const kept = { namespace: 'default', rootRunId: run.id };
    const deleted = { namespace: 'default', rootRunId: 'deleted' };
    for (const key of [kept, deleted]) await (await workspaces.of(key)).write('a/b.txt', 'x');
    mkdirSync(join(root, 'notes of the operator'));
    writeFileSync(join(root, 'default', 'notes.txt'), 'x');
    expect(await sweeper.sweep()).toBe(1);
    expect(readdirSync(join(root, 'default')).toSorted()).toEqual([run.id, 'notes.txt'].toSorted());
    expect(await one.redactor.redact()).toBe(1);
    expect(await sweeper.sweep()).toBe(1);
    expect(readdirSync(join(root, 'default'))).toEqual(['notes.txt']);
    expect(readdirSync(root).toSorted()).toEqual(['default', 'notes of the operator']);
  });

  it('S4.10 does nothing without workspaces', async () => {
    const one = await world.replica();
    expect(await new WorkspaceSweeper(new Workspaces(DEFAULT_TOOLS_OPTIONS), one.store).sweep()).toBe(0);
  });
});
