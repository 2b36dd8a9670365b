import { readFileSync } from 'node:fs';
import { type AgentResult, message, type ModelProvider } from '#rollcall/providers';
import { callTool, say, scripted } from '#rollcall/providers/testing';
import { ReactAgent } from '../agents/react.agent.js';
import { DELEGATION_TOOLS } from './delegation.tools.js';
import { AgentFactoryRegistry } from './targets/agent.factories.js';

const PAGE = readFileSync('docs/runtime/delegation.md', 'utf8');

/** The example of the page. */
function addWriter(agent: ReactAgent, createWriter: () => ReactAgent): void {
  const registry = new AgentFactoryRegistry().register('writer', 'Writes a text.', () => createWriter());
  agent.setRegistry(registry);
}

const create = (name: string, model: ModelProvider): ReactAgent =>
  new ReactAgent({ name, description: '', instructions: '', model });

async function resultOf(agent: ReactAgent): Promise<AgentResult | undefined> {
  for await (const event of agent.handle(message('Begin.'))) if (event.type === 'finished') return event.result;
  return undefined;
}

describe('docs/runtime/delegation.md', () => {
  it('S2.3 quotes the example that this suite executes', () => {
    const examples = [...PAGE.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
    expect(examples).toHaveLength(1);
    for (const code of examples)
      expect(readFileSync(import.meta.filename, 'utf8')).toContain(code.trimEnd().replace(/^(?=.)/gm, '  '));
  });

  it('S2.3 S2.4 the agent of the example delegates to a new writer, and the output is as the page shows', async () => {
    const model = scripted(callTool('delegate_to_agent', { agent: 'writer', task: 'Write.' }), say('Done.'));
    const agent = create('ada', model);
    addWriter(agent, () => create('writer', scripted(say('The text of the agent.'))));
    expect(await resultOf(agent)).toMatchObject({ outcome: 'completed' });
    const [, shown = ''] = /^```\n(<agent_output .*?)\n```$/ms.exec(PAGE) ?? [];
    expect(model.calls[1]?.request.messages.at(-1)).toMatchObject({ content: [{ output: shown }] });
  });

  it('S2.4 S4.8 describes exactly the delegation tools that exist', () => {
    const listed = [...PAGE.matchAll(/^\| `(\w+)` +\|/gm)].map(([, name]) => name);
    expect(listed).toEqual([...DELEGATION_TOOLS]);
  });
});
