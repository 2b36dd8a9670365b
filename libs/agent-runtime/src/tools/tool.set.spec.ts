import { aRun } from '../testing/tool-calls.js';
import { checkToolFilter, isAllowed } from './tool.filter.js';
import { defineTool, type Tool, type ToolBox, toolBox } from './tool.js';
import { ToolSet } from './tool.set.js';

function tool(name: string, description = `The tool ${name}.`): Tool {
  return defineTool({ name, description, execute: () => name });
}

describe('a tool set', () => {
  it('S2.2 uses the tool of the first toolbox that has a tool with this name', () => {
    const boxes = [
      toolBox('own', [tool('search', 'mine')]),
      toolBox('shared', [tool('search', 'theirs'), tool('sum')]),
    ];
    const set = ToolSet.of(boxes, aRun());
    expect(set.find('search')).toMatchObject({ origin: 'own', tool: { description: 'mine' } });
    expect(set.find('sum')?.origin).toBe('shared');
    expect(set.declarations.map(({ name, description }) => [name, description])).toEqual([
      ['search', 'mine'],
      ['sum', 'The tool sum.'],
    ]);
  });

  it('S2.2 declares only what a model needs', () => {
    const [declaration] = ToolSet.of([toolBox('own', [tool('sum')])], aRun()).declarations;
    expect(Object.keys(declaration ?? {})).toEqual(['name', 'description', 'inputSchema']);
  });

  it('S4.4 neither declares nor finds a tool that the filter does not allow', () => {
    const boxes = [toolBox('own', [tool('search'), tool('delete')])];
    const set = ToolSet.of(boxes, aRun(), { deny: ['delete'] });
    expect(set.names).toEqual(['search']);
    expect(set.find('delete')).toBeUndefined();
  });

  it('S4.4 does not fall back to a denied tool of another toolbox', () => {
    const boxes = [toolBox('own', [tool('delete')]), toolBox('shared', [tool('delete')])];
    expect(ToolSet.of(boxes, aRun(), { deny: ['delete'] }).names).toEqual([]);
  });

  it('S2.2 is shared by runs with the same tools, and differs when a toolbox offers other tools in the context', () => {
    const atRoot = [tool('delegate')];
    const delegation: ToolBox = { name: 'delegation', tools: ({ depth }) => (depth === 0 ? atRoot : []) };
    const boxes = [delegation, toolBox('own', [tool('sum')])];
    expect(ToolSet.of(boxes, aRun())).toBe(ToolSet.of(boxes, aRun({ runId: 'run-2' })));
    expect(ToolSet.of(boxes, aRun({ depth: 1 })).names).toEqual(['sum']);
    expect(ToolSet.of(boxes, aRun()).names).toEqual(['delegate', 'sum']);
    expect(ToolSet.of(boxes, aRun(), { allow: [] }).names).toEqual([]);
  });

  it('S2.2 rejects a tool with a name that vendors do not accept, even in a toolbox that toolBox() did not create', () => {
    const bad: ToolBox = { name: 'bad', tools: () => [{ ...tool('sum'), name: 'not a name' }] };
    expect(() => ToolSet.of([bad], aRun())).toThrow(expect.objectContaining({ code: 'TOOL_INVALID' }) as Error);
  });
});

describe('a toolbox', () => {
  it('S2.2 rejects two tools with the same name', () => {
    expect(() => toolBox('math', [tool('sum'), tool('sum')])).toThrow('The toolbox math has two tools named sum');
  });

  it.each(['', 'with space', 'ünicode', 'a'.repeat(65), 'dot.ted', 'line\nbreak'])(
    'S2.2 rejects the name %j',
    (name) => {
      expect(() => tool(name, 'x')).toThrow(expect.objectContaining({ code: 'TOOL_INVALID' }) as Error);
      expect(() => toolBox(name, [])).toThrow(expect.objectContaining({ code: 'TOOL_INVALID' }) as Error);
    },
  );
});

describe('a tool filter', () => {
  it.each([
    [{}, 'sum', true],
    [{ allow: [] }, 'sum', false],
    [{ allow: ['sum'] }, 'sum', true],
    [{ allow: ['sum'] }, 'search', false],
    [{ allow: ['sum'], deny: ['sum'] }, 'sum', false],
    [{ deny: [] }, 'sum', true],
    [{ allow: ['mcp__github'] }, 'mcp__github__search', true],
    [{ allow: ['mcp__github__*'] }, 'mcp__github__search', true],
    [{ allow: ['mcp__git'] }, 'mcp__github__search', false],
    [{ deny: ['mcp__github'] }, 'mcp__github__search', false],
    [{ deny: ['mcp__github__search'] }, 'mcp__github__list', true],
    [{ allow: ['mcp__github__sea*'] }, 'mcp__github__search', false],
    [{ allow: ['mcp__*'] }, 'mcp__github__search', false],
    [{ deny: ['mcp__*'] }, 'mcp__github__search', false],
    [{ deny: ['mcp__*'] }, 'sum', true],
    [{ allow: ['*'] }, 'sum', false],
  ])('S4.4 decides whether %j allows %s: %s', (filter, name, allowed) => {
    expect(isAllowed(name, filter)).toBe(allowed);
  });

  const known = { tools: ['clock', 'http_fetch', 'mcp__github__search'], mcpServers: ['github', 'jira'] };

  it.each([
    [['clock'], []],
    [['mcp__github'], ['mcp__github__*']],
    [['mcp__github__search'], []],
    [['mcp__jira__create'], ['mcp__jira']],
    [['clock'], ['mcp__*']],
  ])('S4.4 is accepted when its names are known: allow %j, deny %j', (allow, deny) => {
    expect(() => checkToolFilter({ allow, deny }, known)).not.toThrow();
  });

  it('S4.4 is rejected when it names unknown tools, with a suggestion for each', () => {
    const filter = { allow: ['clok', 'httpFetch', 'clock'], deny: ['zzzzzz', 'mcp__github__serch', 'mcp__gitlab'] };
    expect(() => checkToolFilter(filter, known)).toThrow(
      expect.objectContaining({
        code: 'TOOL_UNKNOWN',
        details: { unknown: ['clok', 'httpFetch', 'zzzzzz', 'mcp__github__serch', 'mcp__gitlab'] },
        message:
          'There are no tools with these names: clok (did you mean clock?); httpFetch (did you mean http_fetch?); zzzzzz; ' +
          'mcp__github__serch (did you mean mcp__github__search?); mcp__gitlab (did you mean mcp__github?). GET /v1/tools lists all tools.',
      }) as Error,
    );
  });
});
