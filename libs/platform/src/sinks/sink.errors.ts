import { PlatformError } from '../errors.js';

export class SinkNotFoundError extends PlatformError {
  readonly code = 'SINK_NOT_FOUND';

  constructor(id: string) {
    super(`There is no sink "${id}". GET /v1/sinks lists the sinks.`);
  }
}

export class DeliveryNotFoundError extends PlatformError {
  readonly code = 'DELIVERY_NOT_FOUND';

  constructor(id: string, seq: number) {
    super(
      `There is no record of a delivery of event ${seq} to "${id}". Replay all events after a sequence number instead.`,
    );
  }
}
