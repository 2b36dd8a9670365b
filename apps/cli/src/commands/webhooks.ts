import type { DeliveryView, WebhookView } from '#rollcall/client';
import { command, option } from '../command.js';
import { age } from '../output/text.js';
import type { View } from '../output/view.js';
import { LIST_OPTIONS, printList, WATCH_OPTION } from './listing.js';
import { saveKey } from './keys.js';
import { resolve } from 'node:path';

const WEBHOOKS: View<WebhookView> = {
  plural: 'webhooks',
  name: ({ id }) => id,
  columns: [
    { title: 'WEBHOOK', whole: true, value: ({ id }) => id },
    { title: 'STATE', value: ({ status }) => status.state, state: true },
    { title: 'LAG', value: ({ status }) => status.lagEvents, right: true },
    { title: 'PARKED', value: ({ status }) => status.parked, right: true },
    { title: 'URL', value: ({ url }) => url },
    { title: 'LAST ERROR', value: ({ status }) => status.lastError },
    { title: 'TYPES', value: ({ types }) => types?.join(',') ?? 'all', wide: true },
    { title: 'DESCRIPTION', value: ({ description }) => description, wide: true },
    { title: 'AGE', value: ({ createdAt }, now) => age(createdAt, now), wide: true, right: true },
  ],
};

const DELIVERIES: View<DeliveryView> = {
  plural: 'deliveries',
  name: ({ sequence }) => sequence,
  columns: [
    { title: 'SEQUENCE', value: ({ sequence }) => sequence, right: true },
    { title: 'TYPE', value: ({ type }) => type },
    { title: 'SUBJECT', value: ({ subject }) => subject },
    { title: 'STATE', value: ({ state }) => state, state: true },
    { title: 'ATTEMPTS', value: ({ attempts }) => attempts, right: true },
    { title: 'STATUS', value: ({ status }) => status, right: true },
    { title: 'LAST', value: ({ lastAt }, now) => age(lastAt, now), right: true },
    { title: 'ERROR', value: ({ error }) => error },
  ],
};

export const webhookCommands = [
  command({
    name: 'webhooks list',
    about: 'List webhooks.',
    example: 'rollcall webhooks list',
    permission: 'webhooks:manage',
    options: { ...LIST_OPTIONS, ...WATCH_OPTION },
    run: async (session, _, options) => {
      const client = await session.client();
      await printList(session, WEBHOOKS, () => client.webhooks.list({}), options);
    },
  }),
  command({
    name: 'webhooks get',
    about: 'Show a webhook.',
    example: 'rollcall webhooks get $WEBHOOK',
    permission: 'webhooks:manage',
    arguments: { id: 'Id of the webhook.' },
    run: async ({ client, output }, { id }) => await output.item(WEBHOOKS, await (await client()).webhooks.get(id)),
  }),
  command({
    name: 'webhooks create',
    about: 'Send events to a URL. The secret of its signatures is shown once.',
    example:
      'rollcall webhooks create https://example.com/rollcall --types agent.left,budget.exhausted --save $NEW.secret',
    permission: 'webhooks:manage',
    arguments: { url: 'The URL that receives the events.' },
    options: {
      types: option.list('TYPES', 'Only these types.'),
      agents: option.list('IDS', 'Only events about these agents.'),
      description: option.text('TEXT', 'What it is for.'),
      save: option.text('FILE', 'Write the secret to a new file that only you can read, instead of printing it.'),
    },
    run: async ({ client, io, output }, { url }, { types, agents, description, save }) => {
      const { secret, ...webhook } = await (
        await client()
      ).webhooks.create({
        url,
        ...(types && { types }),
        ...(agents && { agentIds: agents }),
        ...(description !== undefined && { description }),
      });
      if (save === undefined) {
        output.note(`Created the webhook ${webhook.id}. Its secret is shown only once:`);
        return await output.done(secret, { name: () => webhook.id }, { ...webhook, secret });
      }
      saveKey(resolve(io.folder, save), secret);
      await output.done(`Created the webhook ${webhook.id}; its secret is in ${save}.`, WEBHOOKS, webhook);
    },
  }),
  command({
    name: 'webhooks deliveries',
    about: 'List what a webhook has delivered.',
    example: 'rollcall webhooks deliveries $WEBHOOK',
    permission: 'webhooks:manage',
    arguments: { id: 'Id of the webhook.' },
    options: LIST_OPTIONS,
    run: async (session, { id }, options) => {
      const client = await session.client();
      await printList(session, DELIVERIES, () => client.webhooks.listDeliveries(id, {}), options);
    },
  }),
  command({
    name: 'webhooks replay',
    about: 'Deliver again what a webhook has parked, or all events after a cursor.',
    example: 'rollcall webhooks replay $WEBHOOK --after 1',
    permission: 'webhooks:manage',
    arguments: { id: 'Id of the webhook.' },
    options: { after: option.text('CURSOR', 'Deliver all events after this cursor or sequence.') },
    run: async ({ client, output }, { id }, { after }) => {
      const webhook = await (await client()).webhooks.replay(id, after === undefined ? {} : { after });
      await output.done(`${id} is ${webhook.status.state}.`, WEBHOOKS, webhook);
    },
  }),
  command({
    name: 'webhooks delete',
    about: 'Delete a webhook.',
    example: 'rollcall webhooks delete $WEBHOOK --yes',
    permission: 'webhooks:manage',
    destroys: true,
    arguments: { id: 'Id of the webhook.' },
    run: async ({ client, output, confirm }, { id }) => {
      await confirm(`Delete the webhook ${id}?`);
      await (await client()).webhooks.delete(id);
      await output.done(`Deleted the webhook ${id}.`, { name: () => id }, { id, deleted: true });
    },
  }),
];
