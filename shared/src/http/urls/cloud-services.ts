/**
 * Services that clouds offer to their own machines: they give credentials, keys and settings of the
 * machine to any program on it. An edge that fetched them for strangers would give them away.
 */

/** One provider's services. */
export interface CloudService {
  readonly of: string;
  /** Networks of the services, in CIDR notation. */
  readonly networks: readonly string[];
  /** Host names of the services, if they have any. */
  readonly names?: readonly string[];
  /** The document that describes the services. */
  readonly source: string;
}

/**
 * The table of all cloud services. Most are in private networks anyway; they are listed so that a
 * test can check the rule for public addresses against all of them.
 */
export const CLOUD_SERVICES: readonly CloudService[] = [
  {
    of: 'AWS: instance metadata, credentials of containers, clock, name server',
    networks: ['169.254.0.0/16', 'fd00:ec2::/32'],
    names: ['instance-data', 'instance-data.ec2.internal'],
    source: 'docs.aws.amazon.com: Instance metadata; Task metadata endpoint; IPv6 addressing',
  },
  {
    of: 'Google Cloud: metadata server',
    networks: ['169.254.169.254/32', 'fd20:ce::254/128'],
    names: ['metadata', 'metadata.google.internal', 'metadata.goog'],
    source: 'cloud.google.com: Access VM metadata',
  },
  {
    of: 'Azure: instance metadata, WireServer and name server',
    networks: ['169.254.169.254/32', '168.63.129.16/32'],
    source: 'learn.microsoft.com: What is IP address 168.63.129.16?',
  },
  {
    of: 'Alibaba Cloud: metadata, and its network of services',
    networks: ['100.100.100.200/32', '100.64.0.0/10'],
    source: 'alibabacloud.com: View instance metadata',
  },
  {
    of: 'Oracle Cloud: metadata, of today and of Classic',
    networks: ['169.254.169.254/32', '192.0.0.192/32', 'fd00:c1::a9fe:a9fe/128'],
    source: 'docs.oracle.com: Getting Instance Metadata; Oracle Cloud Infrastructure Classic',
  },
  {
    of: 'Tencent Cloud: metadata',
    networks: ['169.254.0.23/32', '169.254.10.10/32'],
    names: ['metadata.tencentyun.com'],
    source: 'tencentcloud.com: Instance Metadata',
  },
  {
    of: 'Equinix Metal, Packet: metadata',
    networks: ['192.80.8.124/32'],
    names: ['metadata.packet.net', 'metadata.platformequinix.com'],
    source: 'deploy.equinix.com: Metadata',
  },
  {
    of: 'IBM Cloud: services for machines of the cloud, behind private endpoints',
    networks: ['161.26.0.0/16', '166.8.0.0/14'],
    source: 'cloud.ibm.com/docs/vpc: Service endpoints for IBM Cloud VPC',
  },
  {
    of: 'Scaleway: metadata',
    networks: ['169.254.42.42/32', 'fd00:42::42/128'],
    source: 'scaleway.com/en/docs: Instance metadata',
  },
];
