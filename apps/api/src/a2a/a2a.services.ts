import { Injectable } from '@nestjs/common';
import { RunCommands } from '../runs/run.commands.js';
import { MessagesService } from './messages/messages.service.js';
import { TaskPush } from './push/task.push.js';
import { TaskReader } from './tasks/a2a.tasks.js';
import { TaskStream } from './tasks/task.stream.js';

/** The services that the operations of A2A use. */
@Injectable()
export class A2aServices {
  constructor(
    readonly messages: MessagesService,
    readonly tasks: TaskReader,
    readonly commands: RunCommands,
    readonly stream: TaskStream,
    readonly push: TaskPush,
  ) {}
}
