import type { Command } from './command.js';
import { agentCommands } from './commands/agents.js';
import { applyCommands } from './commands/apply.js';
import { budgetCommands } from './commands/budgets.js';
import { contractCommands } from './commands/contracts.js';
import { conversationCommands } from './commands/conversations.js';
import { definitionCommands } from './commands/definitions.js';
import { eventCommands } from './commands/events.js';
import { keyCommands } from './commands/keys.js';
import { runCommands } from './commands/runs.js';
import { serverCommands } from './commands/server.js';
import { sessionCommands } from './commands/session.js';
import { toolCommands } from './commands/tools.js';
import { webhookCommands } from './commands/webhooks.js';

/** What the first word of a command with two words stands for. */
export const GROUPS: Readonly<Record<string, string>> = {
  agents: 'Find, operate and host agents.',
  budgets: 'See and change budgets.',
  completion: 'Completion of commands in a shell.',
  context: 'The servers that you use.',
  contracts: 'See and announce contracts.',
  conversations: 'Runs that continue one another.',
  definitions: 'See and change the definitions of agents.',
  events: 'Read the event log.',
  keys: 'Issue, rotate and revoke API keys.',
  namespaces: 'See and change namespaces.',
  runs: 'See and continue runs.',
  webhooks: 'Send events to a URL.',
};

/** All commands. The parser, the help, docs/cli.md and the completion are made from this table. */
export const COMMANDS: readonly Command[] = [
  ...serverCommands,
  ...sessionCommands,
  ...agentCommands,
  ...runCommands,
  ...conversationCommands,
  ...budgetCommands,
  ...definitionCommands,
  ...contractCommands,
  ...eventCommands,
  ...webhookCommands,
  ...keyCommands,
  ...applyCommands,
  ...toolCommands,
];
