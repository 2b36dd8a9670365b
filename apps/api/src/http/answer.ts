import type { FastifyReply } from 'fastify';
import { JSON_TYPE } from './json-type.js';
import { replyProblem } from './problem.reply.js';

/** How a handler that is called tens of thousands of times a second answers: at once, with text that is ready. */
export interface Answer {
  ok(json: string | Buffer): void;
  /** Text of nothing but ASCII, which is cheaper to send. */
  okAscii(json: string): void;
  fail(error: unknown): void;
}

export function answerTo(reply: FastifyReply): Answer {
  return {
    ok: (json) => void reply.type(JSON_TYPE).send(json),
    okAscii: (json) => void reply.type(JSON_TYPE).send(json),
    fail: (error) => replyProblem(reply, error),
  };
}
