import { A2A_PROTOCOL_VERSION, A2A_VERSION_HEADER } from '@a2a-js/sdk';
import { isLegacyJsonRpcMethod, legacyJsonRpcToV1Method } from '@a2a-js/sdk/compat/v0_3';
import { A2A_ERROR_CODE, JsonRpcRequestMalformedError } from '@a2a-js/sdk/errors';
import { z } from 'zod';
import type { Permission } from '../../auth/permissions.js';
import { schemaFailed } from '../../http/validation/validation.errors.js';
import type { Address } from '../incoming.calls.js';
import { checkMessage } from '../messages/message.js';
import { permissionToSend } from '../messages/root.skills.js';
import { fromProtoJson } from './proto.json.js';

const MAX_SHOWN = 100;

const RpcRequestSchema = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number().int(), z.null()]).default(null),
  method: z.string().min(1),
  params: z.looseObject({}).nullish(),
});

export interface RpcRequest {
  readonly jsonrpc: '2.0';
  readonly id: string | number | null;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** The methods that start or continue a run, and whose response may take as long as the run. */
export const SENDS: ReadonlySet<string> = new Set(['SendMessage', 'SendStreamingMessage']);

/** The permission of each method, as on the REST API. Null: the permission depends on the message. */
export const PERMISSIONS_OF_METHODS = {
  SendMessage: null,
  SendStreamingMessage: null,
  GetTask: 'runs:read',
  ListTasks: 'runs:read',
  CancelTask: 'runs:start',
  SubscribeToTask: 'runs:read',
  CreateTaskPushNotificationConfig: 'runs:start',
  GetTaskPushNotificationConfig: 'runs:read',
  ListTaskPushNotificationConfigs: 'runs:read',
  DeleteTaskPushNotificationConfig: 'runs:start',
  GetExtendedAgentCard: 'agents:read',
} as const satisfies Record<string, Permission | null>;

export type RpcMethod = keyof typeof PERMISSIONS_OF_METHODS;

const Id = z.string().min(1);
const OfTask = z.looseObject({ id: Id });
const ConfigOfTask = z.looseObject({ taskId: Id, id: Id });
const ConfigsOfTask = z.looseObject({ taskId: Id });
const SAME_IN_LEGACY: ReadonlySet<string> = new Set(['GetTask', 'CancelTask', 'SubscribeToTask']);

/** The required parameters. The codec of the SDK would fill missing ones with defaults. */
const PARAMS: Partial<Record<RpcMethod, z.ZodType>> = {
  GetTask: OfTask,
  CancelTask: OfTask,
  SubscribeToTask: OfTask,
  CreateTaskPushNotificationConfig: ConfigsOfTask,
  GetTaskPushNotificationConfig: ConfigOfTask,
  ListTaskPushNotificationConfigs: ConfigsOfTask,
  DeleteTaskPushNotificationConfig: ConfigOfTask,
};

/** The name of the method in version 1.0. Version 0.3 has other names. */
export function methodOf({ method }: RpcRequest, isLegacy: boolean): RpcMethod {
  const name = isLegacy && isLegacyJsonRpcMethod(method) ? legacyJsonRpcToV1Method(method) : method;
  if (Object.hasOwn(PERMISSIONS_OF_METHODS, name) && (!isLegacy || name !== method)) return name as RpcMethod;
  const hint = isLegacy
    ? `For version 1.0, send the header ${A2A_VERSION_HEADER}: ${A2A_PROTOCOL_VERSION}.`
    : `The methods are ${Object.keys(PERMISSIONS_OF_METHODS).join(', ')}.`;
  const message = `"${method.slice(0, MAX_SHOWN)}" is not a method of A2A ${isLegacy ? '0.3' : A2A_PROTOCOL_VERSION}. ${hint}`;
  throw new JsonRpcRequestMalformedError({ message, envelopeCode: A2A_ERROR_CODE.METHOD_NOT_FOUND });
}

/** A tenant that is not text is ignored, as by the other binding. */
export function tenantIn(params: unknown): Pick<Address, 'tenant'> {
  const { tenant } = (params ?? {}) as { readonly tenant?: unknown };
  return typeof tenant === 'string' ? { tenant } : {};
}

export function permissionOf(method: RpcMethod, address: Address, params: unknown): Permission {
  return PERMISSIONS_OF_METHODS[method] ?? permissionToSend(address, params);
}

/** Version 0.3 has other parameters for push notifications, which the SDK checks. */
export function checkParams(method: RpcMethod, params: unknown, isLegacy: boolean): void {
  if (SENDS.has(method)) return isLegacy ? undefined : checkMessage(params);
  if (isLegacy && !SAME_IN_LEGACY.has(method)) return;
  const { error } = PARAMS[method]?.safeParse(params ?? {}) ?? {};
  if (error) throw schemaFailed(error, { root: 'params' });
}

/** The id for the response, also if the request is invalid. */
export function idIn(body: unknown): string | number | null {
  const { id } = (body ?? {}) as { readonly id?: unknown };
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

/** Rejects a request that is not JSON-RPC 2.0. The SDK would use the error code for invalid parameters. */
export function readRpcRequest(body: unknown, isLegacy: boolean): RpcRequest {
  const read = RpcRequestSchema.safeParse(body);
  if (read.success) {
    const { params, jsonrpc, id, method } = read.data;
    const given = isLegacy ? params : (fromProtoJson(params) as typeof params);
    return { jsonrpc, id, method, ...(given && { params: given }) };
  }
  const message =
    'Send a JSON-RPC 2.0 request: an object with `jsonrpc` "2.0", a `method`, and, if needed, an object as `params`.';
  throw new JsonRpcRequestMalformedError({ message, envelopeCode: A2A_ERROR_CODE.INVALID_REQUEST });
}
