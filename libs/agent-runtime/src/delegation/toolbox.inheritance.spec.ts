import { type AgentEvent, message, type ModelRequest } from '#rollcall/providers';
import { callTool, say, ScriptedModel } from '#rollcall/providers/testing';
import { ReactAgent } from '../agents/react.agent.js';
import type { ReactAgentOptions, ReactOptions } from '../agents/react.options.js';
import { aRun } from '../testing/tool-calls.js';
import { defineTool, type Tool, type ToolBox, toolBox } from '../tools/tool.js';
import { ToolSet } from '../tools/tool.set.js';
import type { DelegationServices, InheritanceMode } from './delegation.services.js';
import { AgentFactoryRegistry } from './targets/agent.factories.js';
import { stricterMode, withInherited } from './toolbox.inheritance.js';

const tool = (name: string, from: string, needsApproval = false): Tool =>
  defineTool({ name, description: from, needsApproval, execute: () => from });
const child = toolBox('child', [tool('read', 'child'), tool('own', 'child')]);
const parent = toolBox('parent', [tool('read', 'parent', true), tool('write', 'parent', true), tool('off', 'parent')]);
const FILTER = { deny: ['off'] };

function toolsWith(mode: InheritanceMode, toolboxes: ToolBox[] = [parent]): ToolSet {
  const inherited = { mode, toolboxes, filter: FILTER, registry: new AgentFactoryRegistry(), services: {} };
  return ToolSet.of(withInherited([child], inherited), aRun());
}

describe('S2.6 inheritance of toolboxes', () => {
  it('union: the tools of the child come first and win; a tool that the parent may not use is not inherited', () => {
    const set = toolsWith('union');
    expect(set.names).toEqual(['read', 'own', 'write']);
    expect(set.find('read')?.tool.description).toBe('child');
    expect(set.find('write')?.tool.needsApproval).toBe(true);
  });

  it('intersection: the tools of the child that the parent also has; they need an approval if either tool needs it', () => {
    const set = toolsWith('intersection');
    expect(set.names).toEqual(['read']);
    expect(set.find('read')?.tool).toMatchObject({ description: 'child', needsApproval: true });
  });

  it('off: only the tools of the child', () => {
    expect(toolsWith('off').names).toEqual(['read', 'own']);
  });

  it('a tool with the name of a delegation tool is never inherited', () => {
    expect(toolsWith('union', [toolBox('x', [tool('spawn_agents', 'x'), tool('more', 'x')])]).names).toEqual([
      'read',
      'own',
      'more',
    ]);
  });

  it.each([
    ['union', undefined, 'union'],
    ['union', 'off', 'off'],
    ['off', 'union', 'off'],
    ['off', 'intersection', 'intersection'],
    ['intersection', 'off', 'intersection'],
  ] as const)(
    'if the mode of the parent is %s and that of the agent is %s, the stricter mode is used: %s',
    (parents, own, used) => {
      expect(stricterMode(parents, own)).toBe(used);
    },
  );

  it('returns the same tools as long as the combined toolboxes return the same tools', () => {
    const inherited = {
      mode: 'union',
      toolboxes: [parent],
      registry: new AgentFactoryRegistry(),
      services: {},
    } as const;
    const boxes = withInherited([child], inherited);
    expect(ToolSet.of(boxes, aRun())).toBe(ToolSet.of(boxes, aRun({ depth: 1 })));
  });
});

describe('S2.6 a ReactAgent that another one delegates to', () => {
  const namesIn = ({ tools = [] }: ModelRequest): string[] => tools.map(({ name }) => name);

  /** `ada` delegates to `bob`. Returns the names of the tools that the model of `bob` gets. */
  async function toolsOfBob(
    services: DelegationServices,
    options: Partial<ReactAgentOptions> = {},
    bobs: ReactOptions = {},
  ): Promise<string[]> {
    const model = new ScriptedModel([say('done')]);
    const registry = new AgentFactoryRegistry().register('bob', 'Helps.', () => {
      const bob = new ReactAgent({ name: 'bob', description: '', instructions: '', model, options: bobs });
      bob.addToolBoxes(child);
      return bob;
    });
    const script = new ScriptedModel([callTool('delegate_to_agent', { agent: 'bob', task: 'x' }), say('ok')]);
    const ada = new ReactAgent({
      name: 'ada',
      description: '',
      instructions: '',
      model: script,
      delegation: services,
      ...options,
    });
    ada.addToolBoxes(parent);
    ada.setRegistry(registry);
    const all: AgentEvent[] = [];
    for await (const event of ada.handle(message('go'))) all.push(event);
    expect(all.at(-1)).toMatchObject({ result: { outcome: 'completed' } });
    return namesIn(model.calls[0]?.request ?? { messages: [] });
  }

  it('S2.4 has its own tools, those of its parent, and the registry of its parent', async () => {
    const names = await toolsOfBob({});
    expect(names.slice(0, 4)).toEqual(['read', 'own', 'write', 'off']);
    expect(names.slice(4)).toEqual(['list_agents', 'delegate_to_agent', 'spawn_agents', 'spawn_subagent']);
  });

  it('M-2 with inheritTools union, the filter of an agent decides on its own tools, and the tools of its parent come after them', async () => {
    const bobs = { subagents: [], toolFilter: { allow: ['own'], deny: ['off'] } };
    expect(await toolsOfBob({}, {}, { ...bobs, inheritTools: 'union' })).toEqual(['own', 'read', 'write']);
    expect(await toolsOfBob({ inheritance: 'off' }, {}, { ...bobs, inheritTools: 'union' })).toEqual(['own']);
  });

  it('M-2 without inheritTools, an agent that lists its tools gets no others from its parent', async () => {
    expect(await toolsOfBob({}, {}, { subagents: [], toolFilter: { allow: ['own', 'write'] } })).toEqual([
      'own',
      'write',
    ]);
  });

  it('has only its own tools if its option inheritTools is off', async () => {
    expect(await toolsOfBob({}, {}, { inheritTools: 'off', subagents: [] })).toEqual(['read', 'own']);
  });

  it('S4.6 does not get the delegation tools at the depth limit', async () => {
    expect(await toolsOfBob({ inheritance: 'off' }, { options: { maxDelegationDepth: 1 } })).toEqual(['read', 'own']);
  });
});
