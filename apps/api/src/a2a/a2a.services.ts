import { Injectable } from '@nestjs/common';
import { MessagesService } from './messages.service.js';
import { TaskCanceller } from './task.canceller.js';
import { TaskPush } from './task.push.js';
import { TaskReader } from './task.reader.js';
import { TaskStream } from './task.stream.js';

/** The services that the operations of A2A use. */
@Injectable()
export class A2aServices {
  constructor(
    readonly messages: MessagesService,
    readonly tasks: TaskReader,
    readonly canceller: TaskCanceller,
    readonly stream: TaskStream,
    readonly push: TaskPush,
  ) {}
}
