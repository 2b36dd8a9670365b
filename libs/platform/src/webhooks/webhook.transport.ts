import { DeliveryError, type Receipt } from '../sinks/event.sink.js';

export interface WebhookRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal;
}

export interface WebhookAnswer {
  status: number;
  /** How long the endpoint asks to wait before the next attempt. */
  retryAfterMs?: number;
}

/** A 2xx status confirms a delivery. Throws for any other status, so that the delivery is repeated. */
export function confirmed({ status, retryAfterMs }: WebhookAnswer): Receipt {
  if (status >= 200 && status < 300) return { status };
  throw new DeliveryError(`The endpoint responded with ${status}.`, { status, retryAfterMs });
}

/** Sends deliveries over HTTP, guarded against forbidden addresses. The application provides the implementation. */
export abstract class WebhookTransport {
  abstract post(request: WebhookRequest): Promise<WebhookAnswer>;
}
