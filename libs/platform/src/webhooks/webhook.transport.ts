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

/** Sends deliveries over HTTP, guarded against forbidden addresses. The application provides the implementation. */
export abstract class WebhookTransport {
  abstract post(request: WebhookRequest): Promise<WebhookAnswer>;
}
