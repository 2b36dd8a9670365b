import { Inject, Injectable } from '@nestjs/common';
import { Directory, DirectoryFollower, type LabelledAgent, RegistryClock } from '#rollcall/registry';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';

/** Lists the public agents: all agents, in any namespace, with the label that the operator chose. */
@Injectable()
export class PublicAgents {
  constructor(
    private readonly directory: Directory,
    private readonly follower: DirectoryFollower,
    private readonly clock: RegistryClock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** False: the operator has chosen no label, so nothing is public. */
  get isOn(): boolean {
    return this.config.catalog.publicLabel !== undefined;
  }

  async list(): Promise<LabelledAgent[]> {
    const { publicLabel } = this.config.catalog;
    if (!publicLabel) return [];
    if (!this.follower.isFresh) await this.follower.refresh();
    return this.directory.labelled(publicLabel.key, publicLabel.value, this.clock.now());
  }
}
