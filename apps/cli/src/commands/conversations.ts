import type { ConversationSummary, ConversationView } from '#rollcall/client';
import { command } from '../command.js';
import { age, count, money } from '../output/text.js';
import type { View } from '../output/view.js';
import { LIST_OPTIONS, printList } from './listing.js';

const COLUMNS: View<ConversationSummary>['columns'] = [
  { title: 'CONVERSATION', whole: true, value: ({ id }) => id },
  { title: 'AGENT', value: ({ agentId }) => agentId },
  { title: 'RUNS', value: ({ runs }) => runs, right: true },
  { title: 'OPEN', value: ({ openRuns }) => openRuns, right: true },
  { title: 'LAST RUN', value: ({ lastRunAt }, now) => age(lastRunAt, now), right: true },
  { title: 'BY', value: ({ createdBy }) => createdBy, wide: true },
  { title: 'AGE', value: ({ createdAt }, now) => age(createdAt, now), wide: true, right: true },
];

const CONVERSATIONS: View<ConversationSummary> = { plural: 'conversations', name: ({ id }) => id, columns: COLUMNS };

const CONVERSATION: View<ConversationView> = {
  plural: 'conversations',
  name: ({ id }) => id,
  columns: [
    ...COLUMNS,
    { title: 'TOKENS', value: ({ cost }) => count(cost.tokens), right: true },
    { title: 'COST', value: ({ cost }) => money(cost.microUsd), right: true },
  ],
};

export const conversationCommands = [
  command({
    name: 'conversations list',
    about: 'List your conversations.',
    example: 'rollcall conversations list',
    permission: 'runs:read',
    options: LIST_OPTIONS,
    run: async (session, _, options) => {
      const client = await session.client();
      await printList(session, CONVERSATIONS, () => client.conversations.list({}), options);
    },
  }),
  command({
    name: 'conversations get',
    about: 'Show a conversation with its messages and its cost.',
    details:
      'It prints the messages of the last runs, oldest first. Continue it with `rollcall run --conversation ID`.',
    example: 'rollcall conversations get $CONVERSATION',
    permission: 'runs:read',
    arguments: { id: 'Id of the conversation.' },
    run: async ({ client, output }, { id }) => {
      const conversation = await (await client()).conversations.get(id, {}).page();
      await output.item(CONVERSATION, conversation, messageLines(conversation));
    },
  }),
  command({
    name: 'conversations delete',
    about: 'Delete a conversation.',
    example: 'rollcall conversations delete $CONVERSATION --yes',
    permission: 'runs:start',
    destroys: true,
    arguments: { id: 'Id of the conversation.' },
    run: async ({ client, output, confirm }, { id }) => {
      await confirm(`Delete the conversation ${id}?`);
      await (await client()).conversations.delete(id, {});
      await output.done(`Deleted the conversation ${id}.`, { name: () => id }, { id, deleted: true });
    },
  }),
];

/** The API returns the newest run first; a person reads a conversation from top to bottom. */
function messageLines({ items }: ConversationView): string[] {
  return items.toReversed().flatMap(({ messages }) =>
    messages.map(({ role, parts }) => {
      const words = parts.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`));
      return `${role}: ${words.join(' ')}`;
    }),
  );
}
