import { Injectable, type Provider, Scope } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { IsInt, IsString } from 'class-validator';
import { z } from 'zod';
import { DirectoryFollower, Ranker, RegistryClock } from '#rollcall/registry';
import { TestCalls } from '../testing/tool-calls.js';
import { BuiltInToolBoxes } from './built-in/built-in.toolboxes.js';
import { Workspaces } from './workspace/workspaces.js';
import { ToolCatalog } from './tool.catalog.js';
import { ToolExplorer } from './tool.explorer.js';
import { defineTool, Tool, toolBox, type ToolContext } from './tool.js';
import { DEFAULT_TOOLS_OPTIONS, TOOLS_OPTIONS, type ToolsOptions } from './tools.options.js';

class ForecastInput {
  @IsString() city: string;
  @IsInt() days: number;
}

@Injectable()
class WeatherTools {
  private readonly unit = '°C';

  @Tool({ description: 'Forecasts the weather.', idempotent: true, timeoutMs: 5_000 })
  forecast({ city, days }: ForecastInput, { run }: ToolContext): string {
    return `${city} in ${days} days for ${run.agentName}: 20 ${this.unit}`;
  }

  @Tool({
    name: 'add_station',
    description: 'Adds a station.',
    input: z.object({ at: z.string() }),
    needsApproval: true,
  })
  async add({ at }: { at: string }): Promise<string> {
    return `added ${at}`;
  }

  @Tool({ description: 'Counts the stations.' })
  stations(): number {
    return 3;
  }

  notATool(): void {}
}

@Injectable()
class Untyped {
  @Tool({ description: 'Has no class.' })
  run(_input: { a: string }): void {}
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest {
  @Tool({ description: 'Never works.' })
  run(): void {}
}

@Injectable()
class Clock {
  @Tool({ name: 'clock', description: 'My clock.' })
  now(): string {
    return 'noon';
  }
}

const REGISTRY: Provider[] = [
  { provide: Ranker, useValue: {} },
  { provide: DirectoryFollower, useValue: {} },
  { provide: RegistryClock, useValue: new RegistryClock() },
];

async function catalog(providers: Provider[], options: Partial<ToolsOptions> = {}): Promise<ToolCatalog> {
  const module = await Test.createTestingModule({
    imports: [DiscoveryModule],
    providers: [
      ToolExplorer,
      Workspaces,
      BuiltInToolBoxes,
      ToolCatalog,
      { provide: TOOLS_OPTIONS, useValue: { ...DEFAULT_TOOLS_OPTIONS, ...options } },
      ...REGISTRY,
      ...providers,
    ],
  }).compile();
  await module.init();
  return await module.resolve(ToolCatalog);
}

describe('a provider with @Tool', () => {
  it('S2.2 becomes a toolbox with the tools of its methods', async () => {
    const [box] = (await catalog([WeatherTools])).toolboxes;
    expect(box?.name).toBe('weather-tools');
    const calls = new TestCalls(box);
    expect(calls.tools.names).toEqual(['forecast', 'add_station', 'stations']);
    const [forecast, add, stations] = calls.tools.names.map((name) => calls.tools.find(name)?.tool);
    expect(forecast).toMatchObject({ idempotent: true, needsApproval: false, timeoutMs: 5_000 });
    expect(add).toMatchObject({ idempotent: false, needsApproval: true });
    expect(forecast?.inputSchema).toMatchObject({
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
    });
    expect(stations?.inputSchema).toMatchObject({ properties: {} });
  });

  it('S2.2 S2.9 is called on its instance with the validated input and the context', async () => {
    const [box] = (await catalog([WeatherTools])).toolboxes;
    const calls = new TestCalls(box);
    expect((await calls.call('forecast', { city: 'Rome', days: 2 })).output).toBe('Rome in 2 days for ada: 20 °C');
    expect((await calls.call('add_station', { at: 'Oslo' })).output).toBe('added Oslo');
    expect((await calls.call('stations')).output).toBe('3');
    expect(await calls.call('forecast', { city: 'Rome' })).toMatchObject({ failed: true });
  });

  it('S2.2 is one toolbox even if it has several injection tokens', async () => {
    const all = await catalog([WeatherTools, { provide: 'weather', useExisting: WeatherTools }]);
    expect(all.toolboxes.map(({ name }) => name)).toContain('weather-tools');
  });

  it('S2.2 must not be created for each request', async () => {
    await expect(catalog([PerRequest])).rejects.toThrow('PerRequest has @Tool methods and is created for each request');
  });

  it('S2.2 must name the schema of an input that is not a class', async () => {
    await expect(catalog([Untyped])).rejects.toThrow('Untyped.run has an input of an unknown type');
  });
});

describe('the tool catalog', () => {
  const stateOf = (all: ToolCatalog): [string, boolean][] =>
    all.list('default').map(({ tool, enabled }) => [tool.name, enabled]);

  it('S2.2 S4.10 enables the clock, the search for agents and the memory, but nothing that reaches other hosts or the disk', async () => {
    expect(stateOf(await catalog([]))).toEqual([
      ['clock', true],
      ['find_agents', true],
      ['remember', true],
      ['recall', true],
      ['http_fetch', false],
      ['read_file', false],
      ['write_file', false],
      ['edit_file', false],
      ['list_files', false],
      ['search_files', false],
      ['todo_write', false],
      ['bash', false],
    ]);
  });

  it('S4.4 has options that turn toolboxes off and http_fetch on', async () => {
    const httpFetch = { ...DEFAULT_TOOLS_OPTIONS.httpFetch, mode: 'read' as const };
    const all = await catalog([WeatherTools], { off: ['memory', 'weather-tools'], httpFetch });
    expect(stateOf(all).filter(([, enabled]) => enabled)).toEqual([
      ['clock', true],
      ['find_agents', true],
      ['http_fetch', true],
    ]);
    expect(all.toolboxes.map(({ name }) => name)).toEqual(['clock', 'find_agents', 'http_fetch']);
  });

  it('S4.4 rejects the name of a toolbox that does not exist', async () => {
    await expect(catalog([], { off: ['memry'] })).rejects.toThrow(
      'There is no toolbox named memry (did you mean memory?). Known: bash, clock, find_agents, http_fetch, memory, workspace.',
    );
  });

  it('S4.10 an alias means its tool, in a filter of any kind', async () => {
    const all = await catalog([], { workspaces: { root: '/tmp/workspaces' } });
    const filter = { allow: ['Read', 'Grep', 'clock', 'mcp__github'], deny: ['Write', 'Bash', 'unknown'] };
    expect(all.resolved(filter, 'default')).toEqual({
      allow: ['read_file', 'search_files', 'clock', 'mcp__github'],
      deny: ['write_file', 'bash', 'unknown'],
    });
    const known = all.known('default');
    expect(known.tools).toEqual(expect.arrayContaining(['read_file', 'Read', 'Grep', 'MultiEdit', 'TodoWrite']));
    expect(known.tools).not.toContain('Bash');
    expect(known.off?.get('Bash')).toContain('ROLLCALL_TOOLS_BASH');
  });

  it('S4.10 a tool with the name of an alias takes precedence', async () => {
    const all = await catalog([], { workspaces: { root: '/tmp/workspaces' } });
    all.add(toolBox('mine', [defineTool({ name: 'Read', description: 'My own.', execute: () => 'mine' })]));
    expect(all.resolved({ allow: ['Read', 'Write'] }, 'default')).toEqual({ allow: ['Read', 'write_file'] });
    const approve = { write_file: 'operator', Write: 'caller' } as const;
    expect(all.resolved({ approve }, 'default')).toEqual({ approve: { write_file: 'operator' } });
  });

  it('N-8 a tool that is off says what turns it on', async () => {
    const all = await catalog([], { off: ['memory'] });
    const { off } = all.known('default');
    expect(off?.get('Read')).toBe('set ROLLCALL_WORKSPACES to a folder');
    expect(off?.get('http_fetch')).toBe('set ROLLCALL_TOOLS_HTTP_FETCH to read or write');
    expect(off?.get('remember')).toBe('remove memory from ROLLCALL_TOOLS_OFF');
  });

  it('S2.2 puts added toolboxes before the built-in toolboxes, so that an added toolbox can replace a built-in tool', async () => {
    const all = await catalog([]);
    const before = all.toolboxes;
    expect(all.toolboxes).toBe(before);
    all.add(toolBox('mine', [defineTool({ name: 'clock', description: 'My clock.', execute: () => 'noon' })]));
    expect(all.toolboxes[0]?.name).toBe('mine');
    expect(() => all.add(toolBox('mine', []))).toThrow(
      expect.objectContaining({ code: 'TOOLBOX_NAME_TAKEN' }) as Error,
    );
  });

  it('S2.2 rejects a provider whose toolbox has the name of another toolbox', async () => {
    await expect(catalog([Clock])).rejects.toThrow('There are two toolboxes named clock');
  });

  it('S4.4 checks filters against the tools that agents can have', async () => {
    const all = await catalog([WeatherTools]);
    all.add({ name: 'mcp__github', tools: () => [] });
    expect(() =>
      all.checkFilter({ allow: ['forecast', 'mcp__github__search'], deny: ['clock'] }, 'default'),
    ).not.toThrow();
    expect(() => all.checkFilter({ allow: ['forcast', 'http_fetch'] }, 'default')).toThrow(
      'There are no tools with these names: forcast (did you mean forecast?); http_fetch.',
    );
  });
});
