import { z } from 'zod';
import { CONTRACT_NET, MAX_CAPABILITIES } from '#rollcall/registry';
import { labelled } from '../untrusted.text.js';
import { defineTool, type Tool } from '../tools/tool.js';
import { childOutput, childOutputs, type ChildResult, isFailed, OUTPUT_RULE } from './child.result.js';
import { DelegationFailedError } from './delegation.errors.js';
import type { Delegator } from './delegator.js';
import type { ListedTarget, WantedAgent } from './targets/delegation.targets.js';

/** The names of the tools of this file. A tool of another toolbox with such a name is never inherited. */
export const DELEGATION_TOOLS: ReadonlySet<string> = new Set([
  'list_agents',
  'delegate_to_agent',
  'spawn_agents',
  'spawn_subagent',
]);

/** The tools need no time limit, because the deadline of the delegated run ends the call. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
const MAX_TASKS = 100;
const MAX_LISTED = 100;
const MIN_WAIT_MS = 200;
const MAX_WAIT_MS = 60_000;
const MAX_DESCRIPTION_CHARS = 300;

const AgentName = z.string().min(1).max(300).describe('The name of the agent, as list_agents returns it');
const Task = z.string().min(1).max(100_000).describe('The complete task. The agent does not know this conversation.');

const DelegateInput = z
  .strictObject({
    agent: AgentName.optional(),
    capabilities: z
      .array(z.string().min(1).max(100))
      .min(1)
      .max(MAX_CAPABILITIES)
      .optional()
      .describe('Instead of agent: any agent that has all these capabilities'),
    prefer: z
      .string()
      .max(64)
      .optional()
      .describe('With capabilities: cheapest (default), fastest, least-loaded …, or contract-net: the agents bid'),
    waitMs: z
      .number()
      .int()
      .min(MIN_WAIT_MS)
      .max(MAX_WAIT_MS)
      .optional()
      .describe('With contract-net: how long the auction may take'),
    task: Task,
    data: z.unknown().optional().describe('Any JSON that the agent needs'),
  })
  .refine(({ agent, capabilities }) => (agent === undefined) !== (capabilities === undefined), {
    error: 'give either agent or capabilities',
  });

const SpawnInput = z.strictObject({
  tasks: z
    .array(z.strictObject({ agent: AgentName, task: Task }))
    .min(1)
    .max(MAX_TASKS),
  mode: z
    .enum(['failFast', 'collect'])
    .default('failFast')
    .describe('failFast: the first failure cancels the other agents. collect: all agents finish.'),
});

/** A call that is repeated after a crash continues its delegated runs, because their ids are derived from the call. */
const REPEATABLE = true;

const SubagentInput = z.strictObject({ subagent: AgentName, prompt: Task });

/** The tools that a model uses to delegate (S2.4, S4.8). `maxChars` limits the output of one call. */
export function delegationTools(delegator: Delegator, maxChars: number): readonly Tool[] {
  return [listAgents(delegator), delegateToAgent(delegator, maxChars), ...spawning(delegator, maxChars)];
}

function listAgents(delegator: Delegator): Tool {
  return defineTool({
    name: 'list_agents',
    description: 'Lists the agents that can receive tasks now, with their descriptions.',
    idempotent: true,
    execute: async (_input, { run }) => listOf(await delegator.list(run)),
  });
}

function delegateToAgent(delegator: Delegator, maxChars: number): Tool {
  return defineTool({
    name: 'delegate_to_agent',
    description: `Gives a task to another agent and returns its answer. Name the agent, or the capabilities it needs. ${OUTPUT_RULE}`,
    input: DelegateInput,
    idempotent: REPEATABLE,
    timeoutMs: NO_TIMEOUT_MS,
    execute: async ({ task, data, ...target }, context) =>
      outputOf(await delegator.delegate({ wanted: wantedOf(target, task), task, data }, context), maxChars),
  });
}

function spawning(delegator: Delegator, maxChars: number): Tool[] {
  return [
    defineTool({
      name: 'spawn_agents',
      description: `Gives tasks to several agents at the same time and returns all answers, in the order of the tasks. ${OUTPUT_RULE}`,
      input: SpawnInput,
      idempotent: REPEATABLE,
      timeoutMs: NO_TIMEOUT_MS,
      execute: async ({ tasks, mode }, context) => {
        const wanted = tasks.map(({ agent: name, task }) => ({ wanted: { name }, task }));
        const results = await delegator.spawn(wanted, mode, context);
        const output = childOutputs(results, maxChars);
        if (mode === 'failFast' && results.some(isFailed)) throw new DelegationFailedError(output);
        return output;
      },
    }),
    defineTool({
      name: 'spawn_subagent',
      description: `Starts a subagent with a prompt and returns its answer. Subagents run one after the other. ${OUTPUT_RULE}`,
      input: SubagentInput,
      idempotent: REPEATABLE,
      timeoutMs: NO_TIMEOUT_MS,
      execute: async ({ subagent: name, prompt: task }, context) =>
        outputOf(await delegator.delegateInOrder({ wanted: { name }, task }, context), maxChars),
    }),
  ];
}

function wantedOf(
  { agent, capabilities = [], prefer, waitMs }: Omit<z.output<typeof DelegateInput>, 'task'>,
  task: string,
): WantedAgent {
  if (agent !== undefined) return { name: agent };
  const auction = prefer === CONTRACT_NET && { task, ...(waitMs !== undefined && { waitMs }) };
  return { capabilities, ...(prefer !== undefined && { prefer }), ...auction };
}

/** A failure is thrown, so that the call counts as failed. */
function outputOf(result: ChildResult, maxChars: number): string {
  const output = childOutput(result, maxChars);
  if (isFailed(result)) throw new DelegationFailedError(output);
  return output;
}

/** Agents of the registry choose their own descriptions, so the list is data. */
function listOf(targets: readonly ListedTarget[]): string {
  if (targets.length === 0) return 'There are no agents that can receive tasks now.';
  const shown = targets.slice(0, MAX_LISTED).map(({ name, description }) => ({
    name,
    description: description.slice(0, MAX_DESCRIPTION_CHARS).toWellFormed(),
  }));
  const more =
    targets.length > shown.length ? `\nThese are the first ${shown.length} of ${targets.length} agents.` : '';
  return labelled('agent_list', {}, shown.map((one) => JSON.stringify(one)).join('\n')) + more;
}
