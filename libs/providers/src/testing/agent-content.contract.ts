import { randomBytes } from 'node:crypto';
import type { AgentEvent, CallContext } from '../agents/agent.js';
import { ArtifactParts } from '../agents/artifact.parts.js';
import { message, textPart, type ContentPart } from '../agents/content.part.js';
import {
  callAgent,
  failure,
  featuresOf,
  resultOf,
  sendMessage,
  type AgentContractOptions,
  type AgentContractSubject,
  type AgentFeature,
} from './agent-contract.subject.js';

type Features = ReadonlySet<AgentFeature>;

const USAGE = { inputTokens: 12, outputTokens: 3, costMicroUsd: 77 };
const EVERY_BYTE = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const PICTURE = { mediaType: 'image/png', name: 'a picture.png' };

/** The tests of messages and answers that are more than text. */
export function describeContent(subject: () => AgentContractSubject, options: AgentContractOptions): void {
  const features = featuresOf(options);
  if (features.has('parts')) describeParts(subject);
  else if (!options.readsFiles)
    it('rejects a file that it cannot send, and sends nothing', async () => {
      const text = subject().play({ does: 'echo' });
      const file: ContentPart = { type: 'file', url: 'https://files.example/a.png', mediaType: 'image/png' };
      const error = await failure(sendMessage(subject(), { parts: [textPart(text), file] }));
      expect(error).toMatchObject({ code: 'AGENT_REQUEST_REFUSED', fault: 'caller' });
      expect(await subject().begunCalls()).toBe(0);
    });
  if (features.has('artifacts')) describeArtifacts(subject);
  if (features.has('context')) describeContext(subject);
}

function describeParts(subject: () => AgentContractSubject): void {
  const echo = async (...parts: ContentPart[]): Promise<readonly ContentPart[]> => {
    const text = subject().play({ does: 'echo' });
    return resultOf(await sendMessage(subject(), { parts: [textPart(text), ...parts] })).parts;
  };

  it('sends and returns JSON data', async () => {
    const data = { city: 'Graz', nested: { list: [1, null, 'ä"\\\n'] }, no: false };
    expect(await echo({ type: 'data', data })).toEqual([{ type: 'data', data }]);
    const { parts } = message(subject().play({ does: 'echo' }), data);
    expect(resultOf(await sendMessage(subject(), { parts })).parts).toEqual([{ type: 'data', data }]);
  });

  it.each([
    ['every byte', EVERY_BYTE],
    ['no byte', Buffer.alloc(0)],
    ['200,000 random bytes', randomBytes(200_000)],
  ])('sends and returns a file byte for byte: %s', async (_what, content) => {
    const file: ContentPart = { type: 'file', bytes: content.toString('base64'), ...PICTURE };
    expect(await echo(file)).toEqual([file]);
  });

  it('sends and returns the address of a file, and keeps the order of parts', async () => {
    const file: ContentPart = { type: 'file', url: 'https://files.example/a%20b.png?c=d', ...PICTURE };
    const parts: ContentPart[] = [file, { type: 'data', data: { a: 1 } }, { ...file, name: 'b.png' }];
    expect(await echo(...parts)).toEqual(parts);
  });
}

function describeArtifacts(subject: () => AgentContractSubject): void {
  it('returns an artifact that arrives in chunks, as events and as part of the result', async () => {
    const report = { id: 'report', name: 'report.md', append: true, last: false };
    const file: ContentPart = { type: 'file', bytes: EVERY_BYTE.toString('base64'), ...PICTURE };
    const data: ContentPart = { type: 'data', data: { pages: 2 } };
    const events = await callAgent(subject(), {
      does: 'produce',
      chunks: [
        { ...report, parts: [textPart('One. ')], append: false },
        { ...report, parts: [textPart('Two.'), data] },
        { ...report, parts: [file], last: true },
        { id: 'notes', parts: [textPart('None.')], append: false, last: true },
      ],
    });
    const parts = [textPart('One. Two.'), data, file, textPart('None.')];
    expect(assembled(events)).toEqual({ parts, names: ['report.md', undefined] });
    expect(resultOf(events)).toMatchObject({ outcome: 'completed', parts });
  });
}

/** What a reader of the events knows about the artifacts. */
function assembled(events: readonly AgentEvent[]): { parts: ContentPart[]; names: (string | undefined)[] } {
  const collected = new ArtifactParts();
  const names = new Map<string, string | undefined>();
  for (const event of events) {
    if (event.type !== 'artifact') continue;
    collected.apply(event.artifact);
    names.set(event.artifact.id, event.artifact.name);
  }
  return { parts: collected.parts, names: [...names.values()] };
}

function describeContext(subject: () => AgentContractSubject): void {
  const context: CallContext = {
    namespace: 'team-a',
    rootRunId: 'run-1',
    runId: 'run-2',
    agentName: 'ada',
    ancestry: ['planner'],
    depth: 1,
    deadline: 1_800_000_000_000,
  };

  it('S2.9 the remote side receives the run of the call, but not the names of other agents', async () => {
    const { parts } = resultOf(await callAgent(subject(), { does: 'show context' }, { context }));
    const { rootRunId, runId, depth, deadline } = context;
    expect(parts).toEqual([{ type: 'data', data: { rootRunId, runId, depth, deadline } }]);
  });

  it('S2.9 the remote side receives a run without a deadline, and receives no run if the call has none', async () => {
    const endless = { ...context, deadline: null };
    const shown = resultOf(await callAgent(subject(), { does: 'show context' }, { context: endless })).parts;
    expect(shown).toMatchObject([{ data: { runId: 'run-2', deadline: null } }]);
    expect(resultOf(await callAgent(subject(), { does: 'show context' })).parts).toEqual([]);
  });
}

/** The tests of calls that end neither with an answer nor with an error. */
export function describeOutcomes(subject: () => AgentContractSubject, features: Features): void {
  const usage = features.has('usage') ? USAGE : undefined;

  if (features.has('refusals'))
    it('returns a refusal with its reason and usage', async () => {
      const result = resultOf(await callAgent(subject(), { does: 'refuse', message: 'not my job', usage }));
      expect(result).toMatchObject({ outcome: 'refused', parts: [textPart('not my job')], usage: usage ?? {} });
      expect(subject().agent.state).toBe('idle');
    });

  if (features.has('stops'))
    it.each(['iterations', 'budget'])(
      'returns the outcome stopped with the reason, the usage and the partial answer: %s',
      async (reason) => {
        const detail = 'It used 500 tokens.';
        const result = resultOf(
          await callAgent(subject(), { does: 'stop', pieces: ['So ', 'far'], reason, detail, usage }),
        );
        expect(result).toMatchObject({ outcome: 'stopped', reason, detail, parts: [textPart('So far')] });
        expect(result.usage).toEqual(usage ?? {});
        expect(subject().agent.state).toBe('idle');
      },
    );
}
