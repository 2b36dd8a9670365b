import { Injectable } from '@nestjs/common';
import { EgressClient, EndpointCheck, ProviderError } from '#rollcall/providers';
import { parseJsonBody } from '../../http/body/json-body.parser.js';
import { ApiError } from '../../http/problems/api.error.js';
import { validationFailed } from '../../http/validation/validation.errors.js';

const TIMEOUT_MS = 10_000;
const NO_RESPONSE: ReadonlySet<string> = new Set(['EGRESS_UNREACHABLE', 'EGRESS_TIMED_OUT', 'EGRESS_TOO_LARGE']);

interface RemoteDocument {
  readonly url: string;
  /** The field of the request that contains the URL. Errors name it. */
  readonly field: string;
  /** The kind of the document. Errors name it. */
  readonly what: 'card' | 'catalog' | 'server.json';
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
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
