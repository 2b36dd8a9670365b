import { A2A_ERROR_CODE, JsonRpcRequestMalformedError } from '@a2a-js/sdk/errors';
import { isLegacyJsonRpcMethod, legacyJsonRpcToV1Method } from '@a2a-js/sdk/compat/v0_3';
import { z } from 'zod';
import type { Permission } from '../auth/permissions.js';

const RpcRequestSchema = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number().int(), z.null()]).default(null),
  method: z.string().min(1),
  params: z.looseObject({ tenant: z.string().optional() }).optional(),
});

export type RpcRequest = z.infer<typeof RpcRequestSchema>;

/** The methods that start or continue a run, and whose response may take as long as the run. */
export const SENDS: ReadonlySet<string> = new Set(['SendMessage', 'SendStreamingMessage']);

/** The permission of each method, as on the REST API. */
export const PERMISSIONS_OF_METHODS: Readonly<Partial<Record<string, Permission>>> = {
  SendMessage: 'runs:start',
  SendStreamingMessage: 'runs:start',
  GetTask: 'runs:read',
  ListTasks: 'runs:read',
  CancelTask: 'runs:start',
  SubscribeToTask: 'runs:read',
  CreateTaskPushNotificationConfig: 'runs:start',
  GetTaskPushNotificationConfig: 'runs:read',
  ListTaskPushNotificationConfigs: 'runs:read',
  DeleteTaskPushNotificationConfig: 'runs:start',
  GetExtendedAgentCard: 'agents:read',
};

/** The name of the method in version 1.0. Version 0.3 has other names. */
export function methodOf({ method }: RpcRequest, isLegacy: boolean): string {
  if (!isLegacy) return method;
  return isLegacyJsonRpcMethod(method) ? legacyJsonRpcToV1Method(method) : '';
}

/** The SDK answers an invalid request with the code of invalid parameters. */
export function readRpcRequest(body: unknown): RpcRequest {
  const read = RpcRequestSchema.safeParse(body);
  if (read.success) return read.data;
  const message = 'This is not a JSON-RPC 2.0 request with `jsonrpc`, `method`, and `params` that are an object.';
  throw new JsonRpcRequestMalformedError({ message, envelopeCode: A2A_ERROR_CODE.INVALID_REQUEST });
}
