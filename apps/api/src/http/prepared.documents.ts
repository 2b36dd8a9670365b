import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { LRUCache } from 'lru-cache';
import { Counter } from 'prom-client';
import { HttpMetrics } from '../telemetry/http.metrics.js';
import { JSON_TYPE } from './body/json-body.parser.js';
import { etagOf, hasVersion } from './etag.js';

/** The documents of one source that are kept: enough for all pages that clients ask for again and again. */
const MAX_BYTES = 16 * 1_024 * 1_024;

interface DocumentContent {
  readonly body: object;
  /** The value that the `ETag` is computed from, if it is not the body: a signature differs each time. */
  readonly tagged?: object;
  /** The media type. The default is JSON. */
  readonly type?: string;
}

/** A document as it is sent. */
interface PreparedDocument {
  readonly content: Buffer;
  readonly etag: string;
  readonly type: string;
}

interface DocumentRequest {
  /** For the metric. */
  readonly kind: string;
  /** What the document is made of. A source never changes: a change is another object. */
  readonly source: object;
  /** Distinguishes the documents of one source. */
  readonly key: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * The public documents. Each is made once for each state of its source, also if many requests arrive at the same time. All later requests
 * get the same bytes, or 304 without a look at the content, so a request without a credential costs no more than a small answer.
 */
@Injectable()
export class PreparedDocuments {
  private readonly sources = new WeakMap<object, LRUCache<string, PreparedDocument>>();
  private readonly pending = new WeakMap<object, Map<string, Promise<PreparedDocument>>>();
  private readonly prepared: Counter<'document'>;

  constructor({ registry }: HttpMetrics) {
    this.prepared = new Counter({
      name: 'rollcall_documents_prepared_total',
      help: 'Public documents that were serialised, by kind. Requests between two changes of the source do not add to it.',
      labelNames: ['document'],
      registers: [registry],
    });
  }

  /** Sends a document, or 304 if the client already has it. `make` is called if the document of this source is not prepared. */
  async send(
    reply: FastifyReply,
    request: DocumentRequest,
    make: () => DocumentContent | Promise<DocumentContent>,
  ): Promise<void> {
    const { content, etag, type } = this.known(request) ?? (await this.make(request, make));
    void reply.headers({ ...request.headers, etag });
    if (hasVersion(reply.request, etag)) return void reply.code(304).send();
    void reply.type(type).send(content);
  }

  private known({ source, key }: DocumentRequest): PreparedDocument | undefined {
    return this.sources.get(source)?.get(key);
  }

  private async make(
    { kind, source, key }: DocumentRequest,
    make: () => DocumentContent | Promise<DocumentContent>,
  ): Promise<PreparedDocument> {
    const pending = getOrAdd(this.pending, source, () => new Map<string, Promise<PreparedDocument>>());
    const known = pending.get(key);
    if (known) return await known;
    const made = this.serialised(kind, make);
    pending.set(key, made);
    try {
      const document = await made;
      const kept = getOrAdd(
        this.sources,
        source,
        () => new LRUCache<string, PreparedDocument>({ maxSize: MAX_BYTES, sizeCalculation: sizeOf }),
      );
      kept.set(key, document);
      return document;
    } finally {
      pending.delete(key);
    }
  }

  private async serialised(
    kind: string,
    make: () => DocumentContent | Promise<DocumentContent>,
  ): Promise<PreparedDocument> {
    const { body, tagged, type = JSON_TYPE } = await make();
    this.prepared.inc({ document: kind });
    const text = JSON.stringify(body);
    const etag = etagOf(tagged === undefined ? text : JSON.stringify(tagged));
    return { content: Buffer.from(text), etag, type: type.includes('charset') ? type : `${type}; charset=utf-8` };
  }
}

function sizeOf({ content }: PreparedDocument, key: string): number {
  return content.length + key.length;
}

function getOrAdd<Value>(map: WeakMap<object, Value>, key: object, create: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const value = create();
  map.set(key, value);
  return value;
}
