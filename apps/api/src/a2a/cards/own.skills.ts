import type { AgentSkill } from '@a2a-js/sdk';
import { skill } from './agent.card.js';

export const ROLLCALL_ABOUT =
  'Registry and runtime for agents. Sends a message to the agent that `tenant` names. Without `tenant`, the best agent with the ' +
  'capabilities in the metadata of the message gets it, or the default agent.';

const JSON_MODES = { inputModes: ['application/json'], outputModes: ['application/json'] };

/** The skills of Rollcall itself. `message.skill.ts` has the same ids. */
export const OWN_SKILLS: readonly AgentSkill[] = [
  skill('route', 'Send work to an agent', ROLLCALL_ABOUT, ['routing', 'agents']),
  {
    ...skill('register', 'Register an agent', 'Registers an agent, as POST /v1/agents does.', ['registry', 'agents']),
    ...JSON_MODES,
    examples: [
      '{"skill": "register", "input": {"agentId": "builder-1", "name": "builder", "capabilities": ["build"]}}',
    ],
  },
  {
    ...skill('query', 'Find agents', 'Ranks agents by capability, health and cost, as POST /v1/agents/query does.', [
      'discovery',
      'agents',
    ]),
    ...JSON_MODES,
    examples: ['{"skill": "query", "input": {"capabilities": ["build"], "prefer": "cheapest"}}'],
  },
  {
    ...skill('announce', 'Announce a contract', 'Lets agents bid for a task, as POST /v1/contracts does.', [
      'contract-net',
      'agents',
    ]),
    ...JSON_MODES,
    examples: ['{"skill": "announce", "input": {"capabilities": ["build"], "task": "Build the site."}}'],
  },
];
