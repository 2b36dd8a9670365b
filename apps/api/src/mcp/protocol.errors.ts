import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { errorFacts, explanationOf } from './error.format.js';
import { problemOf } from '../http/problems/problem.js';

/** Converts an error to a JSON-RPC error, whose data contains the error code of Rollcall. */
export function toProtocolError(error: unknown, requestId: string): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const problem = problemOf(error, requestId);
  const facts = errorFacts(problem);
  const code = problem.status >= 500 ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams;
  return new ProtocolError(code, explanationOf(facts), facts);
}
