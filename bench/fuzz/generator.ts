import { mutateJson, mutateText } from './body-mutations.js';
import type { FuzzCase, HttpCase } from './fuzz-case.js';
import type { Operation } from './openapi.js';
import { Random } from './random.js';
import { mutateRequest, pickDelivery, pickMediaType } from './request-mutations.js';
import { credentialsFor, credentialsOf, pickSender } from './senders.js';
import { socketCase } from './socket-cases.js';
import { type SweepStep, sweepOf, sweptBody } from './sweep.js';
import { type Draft, validRequest } from './valid-request.js';

/** Weights of the number of mutations. The number is small, because a request is rejected for its first error. */
const MUTATIONS = [
  [2, 0],
  [5, 1],
  [2, 2],
  [1, 3],
] as const;

const VALID_EVERY = 4;
/** What an agent does itself, with its lease token. */
const OF_AGENTS = /\/(heartbeat|bids|confirm|tasks\/take|progress|result)$/;

/** Only a session can send it. */
const ENDS_SESSION = 'DELETE /v1/sessions/current';

/** Makes the case of an index. It depends only on the seed, the index and the operations. */
export class CaseGenerator {
  private readonly sweep: SweepStep[];

  constructor(
    private readonly seed: number,
    private readonly operations: readonly Operation[],
  ) {
    this.sweep = sweepOf(new Random(seed), operations);
  }

  /**
   * Every fourth case is a valid request, to each operation in turn, so that every handler is reached. Until the sweep is complete, every
   * second case is a step of it.
   */
  make(index: number): FuzzCase {
    const random = new Random(this.seed, index);
    if (index % VALID_EVERY === 1) return this.validCase(random, Math.floor(index / VALID_EVERY));
    const step = index % 2 === 0 ? this.sweep[index / 2] : undefined;
    if (step) return sweepCase(random, step);
    if (random.chance(0.08)) return socketCase(random);
    return httpCase(random, random.pick(this.operations));
  }

  /** The index of the valid request of an operation in one of its turns. */
  indexOfValid(operation: string, turn: number): number {
    const position = this.operations.findIndex(({ id }) => id === operation);
    return (turn * this.operations.length + position) * VALID_EVERY + 1;
  }

  /** The turns of an operation have different senders and bodies. */
  private validCase(random: Random, count: number): HttpCase {
    const operation = this.operations[count % this.operations.length];
    if (!operation) throw new Error('there are no operations');
    const turn = Math.floor(count / this.operations.length);
    const [share, example] = ([[0, turn], [0.4], [0, turn], [0]] as const)[turn % 4] ?? [];
    const draft = validRequest(random, operation, share, example);
    const ofSession = operation.id === ENDS_SESSION;
    const mine = OF_AGENTS.test(operation.path) && turn % 2 === 0;
    const sender = ofSession ? 'session' : mine ? 'lease' : turn % 2 === 0 ? 'admin' : 'operator';
    const body = draft.body === undefined ? undefined : JSON.stringify(draft.body);
    return {
      kind: 'http',
      operation: operation.id,
      sender,
      method: draft.method,
      target: targetOf(draft),
      headers: [
        ...credentialsFor(random, sender, draft),
        ...draft.headers,
        ...(body === undefined ? [] : [['Content-Type', 'application/json'] as [string, string]]),
      ],
      ...(body !== undefined && { body }),
      delivery: 'whole',
      mutations: [],
      streams: operation.streams,
      isProtocol: operation.isProtocol,
    };
  }
}

function httpCase(random: Random, operation: Operation): HttpCase {
  const draft = validRequest(random, operation);
  const sender = pickSender(random, draft);
  const mutations: string[] = [];
  const count = random.weighted<number>(MUTATIONS);
  for (let n = 0; n < count; n++) mutations.push(mutate(random, draft));
  const body = bodyOf(random, draft, count > 0, mutations);
  const delivery = count > 0 ? pickDelivery(random) : 'whole';
  if (delivery !== 'whole') mutations.push(delivery);
  return {
    kind: 'http',
    operation: operation.id,
    sender,
    method: draft.method,
    target: targetOf(draft),
    headers: [...credentialsFor(random, sender, draft), ...draft.headers],
    ...body,
    delivery,
    mutations,
    streams: operation.streams && draft.method === operation.method,
    isProtocol: operation.isProtocol,
  };
}

/** Uses the admin key, so that the request is not rejected before the body is read. */
function sweepCase(random: Random, step: SweepStep): HttpCase {
  const { operation, value } = step;
  const draft = validRequest(random, operation, 1);
  return {
    kind: 'http',
    operation: operation.id,
    sender: 'admin',
    method: draft.method,
    target: targetOf(draft),
    headers: [...credentialsOf(random, 'admin', 0), ...draft.headers, ['Content-Type', 'application/json']],
    body: JSON.stringify(sweptBody(random, step, draft.body)),
    delivery: 'whole',
    mutations: [`sweep ${value} ${step.place}`],
    streams: operation.streams,
    isProtocol: operation.isProtocol,
  };
}

function mutate(random: Random, draft: Draft): string {
  if (draft.body === undefined || random.chance(0.3)) return mutateRequest(random, draft);
  const [body, mutation] = mutateJson(random, draft.body);
  draft.body = body;
  return mutation;
}

function targetOf({ segments, query }: Draft): string {
  const search = query.map(([name, value]) => `${name}=${value}`).join('&');
  return `/${segments.join('/')}${search && `?${search}`}`;
}

function bodyOf(
  random: Random,
  draft: Draft,
  hostile: boolean,
  mutations: string[],
): Pick<HttpCase, 'body' | 'binary'> {
  if (draft.body === undefined && !(hostile && random.chance(0.1))) return {};
  const wrongType = hostile && random.chance(0.04);
  if (wrongType) mutations.push('media-type');
  if (!draft.headers.some(([name]) => name === 'Content-Type') && !(hostile && random.chance(0.02)))
    draft.headers.push(['Content-Type', wrongType ? pickMediaType(random) : 'application/json']);
  const text = JSON.stringify(draft.body ?? { a: 1 });
  if (!hostile || random.chance(0.93)) return { body: text };
  mutations.push('body text');
  const { text: body, binary } = mutateText(random, text);
  return { body, ...(binary && { binary }) };
}
