import {
  type A2AErrorInfo,
  A2A_ERROR_CODE,
  type A2AError,
  restStatusFor,
  toJsonRpcError,
  toRestErrorBody,
} from '@a2a-js/sdk/errors';
import { A2A_CONTENT_TYPE } from '@a2a-js/sdk';
import { EdgeError, toA2aError } from './a2a.errors.js';
import type { ErrorFormat, Problem } from '../http/problems/problem.js';

/** The code of JSON-RPC for errors that the server itself defines. */
const SERVER_ERROR = -32_000;
const STATUS_NAMES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'RESOURCE_EXHAUSTED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  413: 'OUT_OF_RANGE',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
};

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: readonly object[];
}

/** The `error` of a JSON-RPC response. */
export function rpcErrorOf(error: A2AError): RpcError {
  if (!(error instanceof EdgeError)) return toJsonRpcError(error);
  const code = error.status >= 500 ? A2A_ERROR_CODE.INTERNAL_ERROR : SERVER_ERROR;
  return { code, message: error.message, data: [infoOf(error)] };
}

/** The status and the body of an error response of HTTP+JSON. */
export function restErrorOf(error: A2AError): { status: number; body: object } {
  if (!(error instanceof EdgeError)) {
    const status = restStatusFor(error);
    return { status, body: toRestErrorBody(error, status) };
  }
  const { status: code, message } = error;
  const status = STATUS_NAMES[code] ?? (code >= 500 ? 'INTERNAL' : 'FAILED_PRECONDITION');
  return { status: code, body: { error: { code, status, message, details: [infoOf(error)] } } };
}

/** In JSON-RPC, errors of A2A have status 200. Errors for which A2A has no code, such as 401, keep their HTTP status. */
export const rpcErrors: ErrorFormat = (error, problem) => {
  const known = toA2aError(error, problem);
  return {
    status: known instanceof EdgeError ? known.status : 200,
    headers: { ...headersOf(problem), 'content-type': 'application/json; charset=utf-8' },
    body: { jsonrpc: '2.0', id: null, error: rpcErrorOf(known) },
  };
};

export const restErrors: ErrorFormat = (error, problem) => ({
  ...restErrorOf(toA2aError(error, problem)),
  headers: { ...headersOf(problem), 'content-type': A2A_CONTENT_TYPE },
});

function headersOf({ headers }: Problem): Record<string, string> {
  const { 'content-type': _, ...others } = headers;
  return others;
}

function infoOf(error: EdgeError): Omit<A2AErrorInfo, 'domain'> & { domain: string } {
  return { ...error.toErrorInfo(), domain: 'rollcall' };
}
