import { type AuditView, type CloudEventView, eventName, type FollowedSnapshot, type Rollcall } from '#rollcall/client';
import { command, option } from '../command.js';
import { oneLine } from '../output/text.js';
import type { View } from '../output/view.js';
import { LIST_OPTIONS, printList } from './listing.js';

type PrintedEvent = CloudEventView | FollowedSnapshot;

const EVENTS: View<PrintedEvent> = {
  plural: 'events',
  name: (event) => ('sequence' in event ? event.sequence : event.cursor),
  columns: [
    { title: 'TIME', value: (event) => ('time' in event ? event.time.slice(11, 19) : null), width: 8 },
    { title: 'TYPE', value: (event) => (event.type === 'snapshot' ? event.type : eventName(event)), width: 22 },
    { title: 'SUBJECT', whole: true, value: (event) => ('subject' in event ? event.subject : null), width: 32 },
    { title: 'DATA', value: ({ data }) => facts(data), width: 60 },
    { title: 'SEQUENCE', value: (event) => ('sequence' in event ? event.sequence : null), wide: true, width: 8 },
    { title: 'NAMESPACE', value: (event) => ('namespace' in event ? event.namespace : null), wide: true, width: 12 },
  ],
};

const AUDIT: View<AuditView> = {
  plural: 'entries',
  name: ({ seq }) => seq,
  columns: [
    { title: 'AT', value: ({ at }) => at },
    { title: 'ACTION', value: ({ action }) => action },
    { title: 'TARGET', value: ({ target }) => target },
    { title: 'BY', value: ({ actorName }) => actorName },
    { title: 'NAMESPACE', value: ({ namespace }) => namespace, wide: true },
    { title: 'ADDRESS', value: ({ ip }) => ip, wide: true },
    { title: 'REQUEST', value: ({ requestId }) => requestId, wide: true },
    { title: 'DETAILS', value: ({ details }) => facts(details), wide: true },
  ],
};

export const eventCommands = [
  command({
    name: 'events tail',
    about: 'Print events when they happen.',
    details:
      'It continues after lost connections until Ctrl-C. The last column of `-o wide` is the sequence, from which --after continues.',
    example: 'rollcall events tail --after oldest --types agent.*,run.finished --until-now',
    permission: 'events:read',
    options: {
      after: option.text('CURSOR', 'Begin after this cursor or sequence; oldest or latest (default latest).'),
      types: option.list('TYPES', 'Only these types; agent.* stands for all that begin with agent.'),
      agents: option.list('IDS', 'Only events about these agents.'),
      capabilities: option.list('NAMES', 'Only events about agents with one of these capabilities.'),
      untilNow: option.flag('Stop after the last event that exists.'),
    },
    run: async ({ client, io, output }, _, { after, types, agents, capabilities, untilNow }) => {
      const rollcall = await client();
      const filter = { ...(agents && { agentIds: agents }), ...(capabilities && { capabilities }) };
      const start = after === undefined ? {} : { after };
      await rollcall.events.page({ after: 'latest', limit: 1 }); // fails at once if the server is away
      if (!untilNow && io.stderr.isTTY === true) output.note('Waiting for events. Ctrl-C ends.');
      const events = untilNow
        ? existingEvents(rollcall, { ...filter, ...start, ...(types && { types }) })
        : rollcall.follow({
            ...filter,
            ...start,
            ...(types && { types: types as `${string}.*`[] }),
            signal: io.signal,
            onReconnect: ({ message }) => output.note(`Reconnecting: ${message}`),
          });
      await output.stream(EVENTS, events);
    },
  }),
  command({
    name: 'audit',
    about: 'List who changed what.',
    example: 'rollcall audit --limit 20',
    permission: 'audit:read',
    options: {
      action: option.text('NAME', 'Only this action, such as key.issued.'),
      actor: option.text('ID', 'Only actions of this credential.'),
      target: option.text('ID', 'Only actions on this object.'),
      ...LIST_OPTIONS,
    },
    run: async (session, _, { action, actor, target, ...options }) => {
      const client = await session.client();
      const filter = {
        ...(action !== undefined && { action }),
        ...(actor !== undefined && { actorId: actor }),
        ...(target !== undefined && { target }),
      };
      await printList(session, AUDIT, () => client.audit.list(filter), options);
    },
  }),
];

type PageFilter = NonNullable<Parameters<Rollcall['events']['page']>[0]>;

/** The events up to the one that is the newest when the command begins. */
async function* existingEvents(rollcall: Rollcall, filter: PageFilter): AsyncGenerator<CloudEventView, void> {
  let after = filter.after ?? 'oldest';
  let last: number | undefined;
  for (;;) {
    const { items, next, head } = await rollcall.events.page({ ...filter, after, limit: 1_000 });
    last ??= sequenceOf(head);
    for (const event of items) {
      if (Number(event.sequence) > last) return;
      yield event;
    }
    if (sequenceOf(next) >= last) return;
    after = next;
  }
}

/** A cursor is a sequence number and the identity of its log. */
function sequenceOf(cursor: string): number {
  return Number.parseInt(cursor, 10);
}

/** A field of a line: `reason=evicted generation=3`. */
function facts(data: unknown): string {
  if (typeof data !== 'object' || data === null) return '';
  const shown = Object.entries(data).filter(([, value]) => value !== null && value !== undefined);
  return oneLine(shown.map(([name, value]) => `${name}=${short(value)}`).join(' '));
}

function short(value: unknown): string {
  const whole = typeof value === 'string' ? value : JSON.stringify(value);
  return whole.length > 40 ? `${whole.slice(0, 39)}…` : whole;
}
