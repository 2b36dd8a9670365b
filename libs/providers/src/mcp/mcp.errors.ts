import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client';
import { aborted, findProviderError, ProviderError, reasonOf } from '../errors.js';
import type { CallScope } from './call.scope.js';
import type { McpConnection } from './mcp.connection.js';

const MAX_REASON = 300;
const LOST = new Set([
  SdkErrorCode.ConnectionClosed,
  SdkErrorCode.NotConnected,
  SdkErrorCode.SendFailed,
  SdkErrorCode.EraNegotiationFailed,
]);

export interface ErrorSource {
  /** The server, for messages. */
  label: string;
  redact(text: string): string;
}

/** Converts any error of the SDK or of a request. Texts of the server are shortened, and keys are removed from them. */
export function toMcpError(error: unknown, source: ErrorSource, scope: CallScope): ProviderError {
  if (scope.isCancelled) return aborted(`The call to ${source.label}`);
  const known = scope.failure ?? findProviderError(error);
  return known ? withMcpCode(known, source) : fromSdk(error, source);
}

/** A server of the protocol of 2025 forgets its sessions when it restarts. */
export function isLostSession(error: unknown, connection: McpConnection): boolean {
  return error instanceof SdkHttpError && (error.status === 404 || error.status === 400) && connection.hasSession;
}

function fromSdk(error: unknown, { label, redact }: ErrorSource): ProviderError {
  const reason = redact(reasonOf(error)).slice(0, MAX_REASON);
  if (error instanceof ProtocolError)
    return new ProviderError('MCP_TOOL_FAILED', `${label} returned an error: ${reason}`);
  if (error instanceof SdkHttpError) return fromStatus(error.status, label);
  if (error instanceof UnauthorizedError) return fromStatus(401, label);
  if (!(error instanceof SdkError)) return unreadable(label, reason);
  if (error.code === SdkErrorCode.RequestTimeout)
    return new ProviderError('MCP_TIMED_OUT', `${label} did not respond in time.`);
  if (LOST.has(error.code))
    return new ProviderError('MCP_SERVER_UNREACHABLE', `${label} cannot be reached, or ended the connection.`);
  return unreadable(label, reason);
}

function fromStatus(status: number, label: string): ProviderError {
  if (status === 401 || status === 403)
    return new ProviderError('MCP_CREDENTIAL_REFUSED', `${label} refused the credential of Rollcall. Check its key.`, {
      status,
    });
  const retryable = status === 429 || status >= 500;
  return new ProviderError('MCP_SERVER_UNREACHABLE', `${label} responded with ${status}.`, { status, retryable });
}

/** The codes for a server that cannot be reached or does not respond are the same for HTTP and for programs. Other codes stay. */
function withMcpCode(error: ProviderError, { label }: ErrorSource): ProviderError {
  if (error.code === 'EGRESS_UNREACHABLE')
    return new ProviderError('MCP_SERVER_UNREACHABLE', `${label} cannot be reached: ${error.message}`);
  if (error.code === 'CALL_ABORTED') return new ProviderError('MCP_TIMED_OUT', `${label} did not respond in time.`);
  if (error.code === 'EGRESS_TIMED_OUT')
    return new ProviderError('MCP_TIMED_OUT', `${label} did not respond in time: ${error.message}`);
  return error;
}

function unreadable(label: string, reason: string): ProviderError {
  return new ProviderError('MCP_ANSWER_UNREADABLE', `The response of ${label} cannot be used: ${reason}`);
}
