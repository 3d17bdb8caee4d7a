/*
 * The links of a laboratory's hosts, for kernels without netem: rates, queues, delays, losses.
 *
 * The laboratory's router sends every packet that it forwards into the TUN device of this program.
 * The packet passes its source's link upwards and its destination's link downwards. Each link may
 * lose the packet, holds it for the link's delay and for the time that its rate and the packets
 * before it take, and drops it if the queue is full. Then the program writes the packet back, and
 * the kernel routes it on. (With tbf, the kernel would need a timer for every packet at each link.)
 *
 *   delay DEVICE SEED     prints "ready", then reads lines from standard input:
 *     set ADDRESS DELAY LOSS UP DOWN UPQUEUE DOWNQUEUE
 *             one-way delay in microseconds, loss in parts in a million, rates in kbit/s (0: none),
 *             longest wait of a packet in each queue, in microseconds
 *     alias ADDRESS OTHER   packets to and from ADDRESS pass the link of OTHER
 *     stats                 prints a line of JSON
 *     queue ADDRESS         prints the bytes that wait before the address's link downwards, and the
 *                           bytes that have passed it, as JSON
 *   The program ends when its standard input does.
 *
 * Limits: time is cut into grains of 100 microseconds, so packets are up to about 0.2 ms late, and
 * later on a busy machine; "stats" tells by how much. The program has one thread. It holds at most
 * 262,144 packets, and drops and counts further ones. Packets between two addresses stay in order.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define HELD_MAX 262144
#define PACKET_MAX 2048
#define ADDRESSES 4096 /* a power of two */
#define GRAIN_NS 100000
#define IDLE_NS 2000000
#define BATCH 512
/* Bytes of an Ethernet header: rates include it, as with tbf. */
#define HEADER_BYTES 14

struct end {
  uint32_t address, owner;
  uint32_t delay_us, loss_ppm;
  uint32_t up_kbit, down_kbit, up_queue_us, down_queue_us;
  uint64_t up_free, down_free; /* when the queued packets will have passed */
  uint64_t down_bytes;         /* admitted to the queue downwards */
};

struct packet {
  uint64_t due, order;
  struct end *destination; /* NULL once it has entered the link downwards */
  uint32_t length;
  unsigned char bytes[];
};

static struct packet *heap[HELD_MAX];
static size_t held;
static struct end ends[ADDRESSES];
static uint64_t order, random_state;
static uint64_t passed, lost, full, refused, late_sum, late_max;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Draws a number below a million with xorshift64*, which suffices for losses. */
static uint32_t random_ppm(void) {
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return (uint32_t)((random_state * 0x2545F4914F6CDD1DULL) >> 33) % 1000000u;
}

static struct end *end_of(uint32_t address) {
  uint32_t at = (address * 2654435761u) >> 20;
  for (unsigned i = 0; i < ADDRESSES; i++, at = (at + 1) & (ADDRESSES - 1)) {
    if (ends[at].address == address || ends[at].address == 0) return &ends[at];
  }
  return &ends[0];
}

static struct end *link_of(uint32_t address) {
  struct end *end = end_of(address);
  return end->owner != 0 ? end_of(end->owner) : end;
}

/* Returns when a packet that arrives at a time has passed a line; 0 if the line's queue is full. */
static uint64_t through(uint64_t at, uint64_t *line_free, uint32_t kbit, uint32_t queue_us,
                        uint32_t length) {
  if (kbit == 0) return at;
  uint64_t start = *line_free > at ? *line_free : at;
  if (start - at > 1000ull * queue_us) {
    full++;
    return 0;
  }
  return *line_free = start + (length + HEADER_BYTES) * 8000000ull / kbit;
}

static int before(const struct packet *a, const struct packet *b) {
  return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void push(struct packet *p) {
  size_t at = held++;
  while (at > 0 && before(p, heap[(at - 1) / 2])) {
    heap[at] = heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap[at] = p;
}

static struct packet *pop(void) {
  struct packet *first = heap[0], *last = heap[--held];
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= held) break;
    if (child + 1 < held && before(heap[child + 1], heap[child])) child++;
    if (!before(heap[child], last)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = last;
  return first;
}

static void release(int device) {
  uint64_t now = now_ns();
  while (held > 0 && heap[0]->due <= now) {
    struct packet *p = pop();
    struct end *to = p->destination;
    if (to != NULL) {
      p->destination = NULL;
      p->due = through(p->due, &to->down_free, to->down_kbit, to->down_queue_us, p->length);
      if (p->due > 0) {
        to->down_bytes += p->length + HEADER_BYTES;
        push(p);
      } else free(p);
      continue;
    }
    uint64_t late = now - p->due;
    late_sum += late;
    if (late > late_max) late_max = late;
    /* A packet that the kernel does not take is lost, as in any network. */
    if (write(device, p->bytes, p->length) >= 0) passed++;
    else refused++;
    free(p);
  }
}

static void take(const unsigned char *bytes, ssize_t length, uint64_t now) {
  uint32_t source, destination;
  if (length < 20 || bytes[0] >> 4 != 4) return;
  memcpy(&source, bytes + 12, 4);
  memcpy(&destination, bytes + 16, 4);
  struct end *a = link_of(source), *b = link_of(destination);
  if ((a->loss_ppm > 0 && random_ppm() < a->loss_ppm) ||
      (b->loss_ppm > 0 && random_ppm() < b->loss_ppm)) {
    lost++;
    return;
  }
  uint64_t at = through(now, &a->up_free, a->up_kbit, a->up_queue_us, (uint32_t)length);
  if (at == 0) return;
  struct packet *p = held < HELD_MAX ? malloc(sizeof *p + (size_t)length) : NULL;
  if (p == NULL) {
    refused++;
    return;
  }
  p->due = at + 1000ull * (a->delay_us + b->delay_us);
  p->destination = b;
  p->order = order++;
  p->length = (uint32_t)length;
  memcpy(p->bytes, bytes, (size_t)length);
  push(p);
}

/* Reads the packets that have arrived. Returns their number. */
static int drain(int device) {
  unsigned char bytes[PACKET_MAX];
  uint64_t now = now_ns();
  int count = 0;
  for (; count < BATCH; count++) {
    ssize_t length = read(device, bytes, sizeof bytes);
    if (length <= 0) break;
    take(bytes, length, now);
  }
  return count;
}

static void command(const char *line) {
  char text[64], other[64];
  uint32_t address, owner;
  struct end to = {0};
  if (sscanf(line, "set %63s %u %u %u %u %u %u", text, &to.delay_us, &to.loss_ppm, &to.up_kbit,
             &to.down_kbit, &to.up_queue_us, &to.down_queue_us) == 7 &&
      inet_pton(AF_INET, text, &address) == 1) {
    struct end *end = end_of(address);
    to.address = address;
    to.up_free = end->up_free;
    to.down_free = end->down_free;
    to.down_bytes = end->down_bytes;
    *end = to;
  }
  if (sscanf(line, "alias %63s %63s", text, other) == 2 &&
      inet_pton(AF_INET, text, &address) == 1 && inet_pton(AF_INET, other, &owner) == 1) {
    *end_of(address) = (struct end){.address = address, .owner = owner};
  }
  if (sscanf(line, "queue %63s", text) == 1 && inet_pton(AF_INET, text, &address) == 1) {
    const struct end *end = link_of(address);
    uint64_t now = now_ns();
    uint64_t rest = end->down_free > now ? (end->down_free - now) * end->down_kbit / 8000000 : 0;
    printf("{\"bytes\":%llu,\"sentBytes\":%llu}\n", (unsigned long long)rest,
           (unsigned long long)(end->down_bytes > rest ? end->down_bytes - rest : 0));
  }
  if (strncmp(line, "stats", 5) == 0) {
    printf("{\"passed\":%llu,\"lost\":%llu,\"full\":%llu,\"refused\":%llu,\"meanLateMs\":%.3f,\"maxLateMs\":%.3f}\n",
           (unsigned long long)passed, (unsigned long long)lost, (unsigned long long)full,
           (unsigned long long)refused,
           passed > 0 ? (double)late_sum / 1e6 / (double)passed : 0.0, (double)late_max / 1e6);
    late_max = late_sum = passed = 0;
  }
}

/* Carries out the commands that have arrived. Returns 0 at the end of the input. */
static int commands(void) {
  static char text[4096];
  static size_t used;
  ssize_t more = read(0, text + used, sizeof text - 1 - used);
  if (more <= 0) return 0;
  used += (size_t)more;
  text[used] = '\0';
  char *line = text, *end;
  for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    *end = '\0';
    command(line);
  }
  used = strlen(line);
  memmove(text, line, used);
  return used < sizeof text - 1;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  strncpy(request.ifr_name, argv[1], IFNAMSIZ - 1);
  random_state = strtoull(argv[2], NULL, 10) * 2 + 1;
  int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (device < 0 || ioctl(device, TUNSETIFF, &request) < 0) {
    perror("/dev/net/tun");
    return 1;
  }
  /* The program sleeps most of the time, but must wake in time. */
  struct sched_param priority = {.sched_priority = 1};
  if (sched_setscheduler(0, SCHED_RR, &priority) < 0) setpriority(PRIO_PROCESS, 0, -20);
  prctl(PR_SET_TIMERSLACK, 1);
  setvbuf(stdout, NULL, _IOLBF, 0);
  puts("ready");
  const struct timespec grain = {.tv_nsec = GRAIN_NS};
  uint64_t active = 0, looked = 0;
  for (;;) {
    uint64_t now = now_ns();
    if (drain(device) > 0 || held > 0) active = now;
    release(device);
    /* While packets arrive, the program looks at its input only now and then. */
    int idle = now - active > IDLE_NS;
    if (idle || now - looked > IDLE_NS) {
      struct pollfd both[] = {{.fd = 0, .events = POLLIN}, {.fd = device, .events = POLLIN}};
      poll(both, 2, idle ? -1 : 0);
      if (both[0].revents != 0 && !commands()) return 0;
      looked = now;
    }
    if (!idle) clock_nanosleep(CLOCK_MONOTONIC, 0, &grain, NULL);
  }
}
