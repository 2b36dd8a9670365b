import { Injectable } from '@nestjs/common';
import { EgressClient, EndpointCheck, ProviderError } from '#rollcall/providers';
import { parseJsonBody } from '../../http/body/json-body.parser.js';
import { ApiError } from '../../http/problems/api.error.js';
import { validationFailed } from '../../http/validation/validation.errors.js';

const TIMEOUT_MS = 10_000;
const NO_RESPONSE: ReadonlySet<string> = new Set(['EGRESS_UNREACHABLE', 'EGRESS_TIMED_OUT', 'EGRESS_TOO_LARGE']);

/**
 * How many requests one import may cause (S-19). Otherwise, a small catalog could make Rollcall send a thousand requests to a host that
 * did not ask for them.
 */
export class RequestAllowance {
  private total = 0;
  private readonly byHost = new Map<string, number>();

  /** Throws VALIDATION_FAILED if the import has used up its requests, in total or to this host. */
  take(url: string, field: string): void {
    const host = URL.parse(url)?.hostname ?? '';
    const count = (this.byHost.get(host) ?? 0) + 1;
    if (count > MAX_REQUESTS_PER_HOST) throw notFetched(field, `${MAX_REQUESTS_PER_HOST} requests to ${host}`);
    if (this.total >= MAX_REQUESTS) throw notFetched(field, `${MAX_REQUESTS} requests`);
    this.byHost.set(host, count);
    this.total += 1;
  }
}

const MAX_REQUESTS_PER_HOST = 50;
const MAX_REQUESTS = 200;

function notFetched(field: string, limit: string): ApiError {
  const message = `${field}: it was not fetched, because one import sends at most ${limit}. Import the remaining entries separately, or with their data`;
  return validationFailed([{ field, message }]);
}

interface RemoteDocument {
  readonly url: string;
  /** The field of the request that contains the URL. Errors name it. */
  readonly field: string;
  /** The kind of the document. Errors name it. */
  readonly what: 'card' | 'catalog' | 'server.json';
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** The requests of the import that the document belongs to. */
  readonly allowance?: RequestAllowance;
}

/** Reads JSON documents from URLs that a caller chose. The egress rules, the limits of request bodies and a time limit apply. */
@Injectable()
export class RemoteDocuments {
  constructor(
    private readonly egress: EgressClient,
    private readonly endpoints: EndpointCheck,
  ) {}

  /** Rejects with VALIDATION_FAILED, which names the field, if the document cannot be used. */
  async read(document: RemoteDocument): Promise<Record<string, unknown>> {
    document.allowance?.take(document.url, document.field);
    const url = await this.endpoints.check(document.url);
    const value = parsed(await this.bytes(url, document), document);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw unusable(document, 'it is not a JSON object');
    }
    return value as Record<string, unknown>;
  }

  private async bytes(url: string, document: RemoteDocument): Promise<Buffer> {
    const { headers, signal: caller } = document;
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const signal = caller ? AbortSignal.any([caller, timeout]) : timeout;
    try {
      const response = await this.egress.fetch(url, { headers: { accept: 'application/json', ...headers }, signal });
      if (!response.ok) throw unusable(document, `the server answered ${response.status}`);
      return Buffer.from(await response.arrayBuffer());
    } catch (error) {
      if (signal.aborted) throw unusable(document, 'the server did not respond in time');
      throw error instanceof ProviderError && NO_RESPONSE.has(error.code) ? unusable(document, error.message) : error;
    }
  }
}

function parsed(bytes: Buffer, document: RemoteDocument): unknown {
  try {
    return parseJsonBody(bytes);
  } catch (error) {
    throw error instanceof ApiError ? unusable(document, error.message) : error;
  }
}

function unusable({ field, what }: RemoteDocument, why: string): ApiError {
  return validationFailed([{ field, message: `${field}: the ${what} cannot be used: ${why}` }]);
}
