import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Database, DatabaseBusyError, DEFAULT_NAMESPACE, inBatches, Periodic } from '#rollcall/platform';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { ApiError } from '../http/problems/api.error.js';
import { StorageRate, type StoringCaller } from '../limits/storage.rate.js';
import { IdempotencyStore, type KeySlot, type StoredResponse } from './idempotency.store.js';
import { type Seal, seal, unseal } from './sealed-response.js';
import { callerOf, type Principal } from '../auth/principal.js';

const ACCEPTABLE = /^[\x21-\x7e]{1,255}$/;
const UNDEFINED = '';
/** How long a response is stored: clients repeat a request within minutes, and a queue of a client is repaired within a day. */
const KEEP_MS = 24 * 3_600_000;
const SWEEP_EVERY_MS = 10 * 60_000;
const SWEEP_BATCH = 1_000;

export interface OnceResult {
  response: unknown;
  replayed: boolean;
}

/** The principal that chose the key. The stored response counts for it. */
type KeyedCaller = StoringCaller & Pick<Principal, 'id'>;

/** A request that must take effect only once. */
export interface KeyedRequest {
  caller: KeyedCaller;
  key: string;
  /** Everything that a repetition of the request must have in common with it. */
  content: string;
  /** The secret of the credential, which decrypts the stored response. */
  secret: string;
}

interface DescribedRequest {
  slot: KeySlot;
  seals: [Seal, ...Seal[]];
  fingerprint: Buffer;
}

/**
 * Guarantees one effect for one Idempotency-Key. Only the response of a successful request is stored: a failed request changed
 * nothing, so a repetition with its key is executed.
 */
@Injectable()
export class IdempotencyService {
  constructor(
    private readonly db: Database,
    private readonly store: IdempotencyStore,
    private readonly storage: StorageRate,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async once(key: string, request: FastifyRequest, act: () => Promise<unknown>): Promise<OnceResult> {
    return await this.onceFor(keyed(key, request), act);
  }

  async onceFor(request: KeyedRequest, act: () => Promise<unknown>): Promise<OnceResult> {
    const described = this.describe(request);
    const { slot } = described;
    return await this.db.transaction(async () => {
      if (!(await this.tryToClaim(request, described)))
        return { response: replay(await this.store.find(slot), described), replayed: true };
      const response = await act();
      this.save(request, response);
      return { response, replayed: false };
    });
  }

  /**
   * Claims the key in the open transaction, for a caller that sends the claim together with its first writes. Rejects if the key was used
   * before: the caller then rolls back and returns the stored response (`storedFor`). Otherwise the caller calls `save`.
   */
  async claim(request: KeyedRequest): Promise<void> {
    if (!(await this.tryToClaim(request, this.describe(request))))
      throw inProgress(new Error('the key was used before'));
  }

  /** Stores the response together with the COMMIT of the open transaction. */
  save(request: KeyedRequest, response: unknown): void {
    const { slot, seals } = this.describe(request);
    const answer = seal(response === undefined ? UNDEFINED : JSON.stringify(response), seals[0]);
    this.storage.takeChecked(request.caller, answer.length);
    this.store.save(slot, answer);
  }

  /** The stored response of an earlier request with this key; undefined if there is none. */
  async stored(key: string, request: FastifyRequest): Promise<OnceResult | undefined> {
    return await this.storedFor(keyed(key, request));
  }

  async storedFor(request: KeyedRequest): Promise<OnceResult | undefined> {
    const described = this.describe(request);
    const stored = await this.store.find(described.slot);
    return stored && { response: replay(stored, described), replayed: true };
  }

  /** Deletes stored responses that have expired. */
  @Periodic('idempotency.sweep', SWEEP_EVERY_MS)
  async sweep(): Promise<number> {
    return await inBatches(SWEEP_BATCH, async (limit) => await this.store.prune(limit));
  }

  private describe({ caller, key, content, secret }: KeyedRequest): DescribedRequest {
    if (!ACCEPTABLE.test(key)) {
      throw new ApiError('IDEMPOTENCY_KEY_INVALID', 'Use 1 to 255 visible ASCII characters, such as a UUID.');
    }
    return {
      slot: { callerId: caller.id, keyHash: sha256(key) },
      seals: this.sealsFor(key, secret),
      fingerprint: sha256(content),
    };
  }

  /** A repetition stores nothing, so only the first request can be rejected because its caller has stored too much. */
  private async tryToClaim({ caller }: KeyedRequest, { slot, fingerprint }: DescribedRequest): Promise<boolean> {
    const isNew = await this.store.claim(slot, fingerprint, KEEP_MS).catch((error: unknown) => {
      throw error instanceof DatabaseBusyError ? inProgress(error) : error;
    });
    if (isNew) this.storage.check(caller);
    return isNew;
  }

  /**
   * The first key encrypts, and all keys decrypt. With a sealing key, a caller that has renewed its token can still read the
   * response.
   */
  private sealsFor(idempotencyKey: string, secret: string): [Seal, ...Seal[]] {
    const credential = { idempotencyKey, secret };
    const [first, ...older] = this.config.auth.sealingKey.map((key) => ({ idempotencyKey, secret: key }));
    return first ? [first, ...older, credential] : [credential];
  }
}

/** The response to an earlier request with the same key, which must have the same content. */
function replay(stored: StoredResponse | undefined, { seals, fingerprint }: DescribedRequest): unknown {
  if (!stored?.fingerprint.equals(fingerprint)) {
    throw new ApiError(
      'IDEMPOTENCY_KEY_REUSED',
      'This Idempotency-Key was sent with another method, URL, namespace or body. Use a new one for a new request.',
    );
  }
  const text = unseal(stored.answer, seals);
  if (text === undefined) throw notDecrypted();
  return text === UNDEFINED ? undefined : (JSON.parse(text) as unknown);
}

function inProgress(cause: Error): ApiError {
  const detail = 'Wait for the first request to end, then repeat this one.';
  return new ApiError('IDEMPOTENCY_IN_PROGRESS', detail, { retryAfterMs: 1_000 }, { cause });
}

/** A request of the REST API with an Idempotency-Key; undefined without one. `url` is the part of the URL that a repetition shares. */
export function keyedHttpRequest(request: FastifyRequest, url: string): KeyedRequest | undefined {
  const key = request.headers['idempotency-key'];
  return key === undefined ? undefined : keyed(String(key), request, url);
}

function keyed(key: string, request: FastifyRequest, url = request.url): KeyedRequest {
  const { method, body } = request;
  const content = `${method} ${url}\n${namespaceLine(request)}${JSON.stringify(body) ?? ''}`;
  return { caller: callerOf(request), key, content, secret: secretOf(request) };
}

/** A request of another protocol than REST. A repetition has the same caller, key and content. */
export interface ProtocolRequest {
  /** Separates the keys of the protocols. */
  protocol: 'a2a' | 'mcp';
  caller: KeyedCaller;
  request: FastifyRequest;
  /** The id that the client has chosen. It may contain any characters. */
  key: string;
  content: unknown;
}

export function keyedRequest({ protocol, caller, request, key, content }: ProtocolRequest): KeyedRequest {
  return {
    caller,
    key: `${protocol}:${sha256(key).toString('hex')}`,
    content: JSON.stringify(content),
    secret: secretOf(request),
  };
}

/** The secret of the credential of a request. */
function secretOf({ headers }: FastifyRequest): string {
  return headers.authorization?.split(' ').at(-1) ?? '';
}

function notDecrypted(): ApiError {
  return new ApiError(
    'IDEMPOTENCY_KEY_REUSED',
    'This request was executed, but its stored response can be decrypted only with the credential of the first request. Repeat ' +
      'it with that credential, or read the changed objects. If ROLLCALL_SEALING_KEY is set, a renewed token works too.',
  );
}

/** Empty in the default namespace, so that fingerprints that were stored before namespaces existed stay valid. */
function namespaceLine({ principal }: FastifyRequest): string {
  const { namespace = DEFAULT_NAMESPACE } = principal ?? {};
  return namespace === DEFAULT_NAMESPACE ? '' : `${namespace}\n`;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
