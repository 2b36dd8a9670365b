import { PlatformError } from '../errors.js';

export class SinkNotFoundError extends PlatformError {
  readonly code = 'SINK_NOT_FOUND';

  constructor(id: string) {
    super(`There is no sink "${id}". GET /v1/sinks lists them.`);
  }
}

export class DeliveryNotFoundError extends PlatformError {
  readonly code = 'DELIVERY_NOT_FOUND';

  constructor(id: string, seq: number) {
    super(`"${id}" has no delivery of event ${seq} that is kept. Replay everything after a sequence instead.`);
  }
}
