import type { FastifyReply } from 'fastify';
import { etagOf } from '../http/etag.js';
import { JSON_TYPE } from '../http/body/json-body.parser.js';

/** Health and load change all the time, so caches may keep a copy only for a few seconds. */
const CACHE = 'public, max-age=5';

export interface Document {
  readonly body: object;
  /** The value that the `ETag` is computed from, if it is not the body: a signature differs each time. */
  readonly tagged?: object;
  readonly type?: string;
}

/** Sends a public document. Any web page may read it. A client that already has this version gets 304. */
export function sendDocument(reply: FastifyReply, { body, tagged = body, type = JSON_TYPE }: Document): void {
  const etag = etagOf(JSON.stringify(tagged));
  void reply.headers({ 'cache-control': CACHE, 'access-control-allow-origin': '*', etag });
  if (reply.request.headers['if-none-match'] === etag) return void reply.code(304).send();
  void reply.type(type).send(JSON.stringify(body));
}
