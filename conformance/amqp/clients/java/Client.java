import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.AlreadyClosedException;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.Envelope;
import com.rabbitmq.client.MessageProperties;
import com.rabbitmq.client.ShutdownSignalException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Date;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** The scenario of clients.py with RabbitMQ's Java client. Arguments: URL, URL through the proxy, port that cuts the proxy, stream. */
public final class Client {
    static String direct, proxied, stream;
    static int cutter;
    static int sent;

    static final class Message {
        final long offset;
        final String body;

        Message(AMQP.BasicProperties properties, byte[] body) {
            this.offset = (Long) properties.getHeaders().get("x-stream-offset");
            this.body = new String(body);
        }

        @Override
        public String toString() {
            return "[" + offset + ",\"" + body + "\"]";
        }
    }

    interface Step {
        void run() throws Exception;
    }

    static Connection connect(String url) throws Exception {
        ConnectionFactory factory = new ConnectionFactory();
        factory.setUri(url);
        factory.setAutomaticRecoveryEnabled(false);
        return factory.newConnection();
    }

    /** Hands over every message until `take` says false or the connection is gone; gives whether all was taken. */
    static boolean consume(String url, Object offset, Predicate<Message> take, Step before) throws Exception {
        Connection connection = connect(url);
        CountDownLatch over = new CountDownLatch(1);
        boolean[] all = {false};
        boolean[] left = {false};
        Channel channel = connection.createChannel();
        connection.addShutdownListener(cause -> over.countDown());
        channel.basicQos(20);
        DefaultConsumer consumer = new DefaultConsumer(channel) {
            @Override
            public void handleDelivery(String tag, Envelope envelope, AMQP.BasicProperties properties, byte[] body)
                    throws java.io.IOException {
                // The client hands over what it had received even after it has told that the connection is gone.
                synchronized (all) {
                    if (all[0] || left[0]) {
                        return;
                    }
                    all[0] = !take.test(new Message(properties, body));
                }
                try {
                    getChannel().basicAck(envelope.getDeliveryTag(), false);
                } catch (AlreadyClosedException gone) {
                    // The listener says so.
                }
                if (all[0]) {
                    over.countDown();
                }
            }
        };
        channel.basicConsume(stream, false, Collections.singletonMap("x-stream-offset", offset), consumer);
        before.run();
        over.await();
        synchronized (all) {
            left[0] = true;
        }
        if (all[0]) {
            try {
                connection.close();
            } catch (ShutdownSignalException gone) {
                // Cut after its last message.
            }
        }
        return all[0];
    }

    static String read(Object offset, int count, Step before) throws Exception {
        List<Message> got = Collections.synchronizedList(new ArrayList<>());
        consume(direct, offset, message -> {
            got.add(message);
            return got.size() < count;
        }, before);
        return json(got);
    }

    static String read(Object offset, int count) throws Exception {
        return read(offset, count, () -> { });
    }

    static String json(List<Message> messages) {
        return messages.stream().map(Message::toString).collect(Collectors.joining(",", "[", "]"));
    }

    static void cut() {
        try (Socket control = new Socket("127.0.0.1", cutter)) {
            control.getInputStream().read();
        } catch (java.io.IOException failed) {
            throw new IllegalStateException(failed);
        }
    }

    static void publish(Channel channel, int count) throws Exception {
        for (int i = 0; i < count; i++, sent++) {
            channel.basicPublish("", stream, true, MessageProperties.PERSISTENT_BASIC, ("m" + sent).getBytes());
        }
        channel.waitForConfirmsOrDie(20_000);
    }

    public static void main(String[] args) throws Exception {
        direct = args[0];
        proxied = args[1];
        cutter = Integer.parseInt(args[2]);
        stream = args[3];
        Connection publisher = connect(direct);
        Channel out = publisher.createChannel();
        out.queueDeclare(stream, true, false, false, Collections.singletonMap("x-queue-type", "stream"));
        out.confirmSelect();
        publish(out, 100);
        long second = System.currentTimeMillis() / 1000 + 1;
        Thread.sleep(second * 1000 + 100 - System.currentTimeMillis());
        publish(out, 100);
        StringBuilder result = new StringBuilder("{\"first\":").append(read("first", 200));
        result.append(",\"offset\":").append(read(150L, 50));
        result.append(",\"timestamp\":").append(read(new Date(second * 1000), 100));
        result.append(",\"interval\":").append(read("1h", 200));
        result.append(",\"last\":").append(read("last", 1));
        result.append(",\"next\":").append(read("next", 1, () -> publish(out, 1)));
        Thread.sleep(1200);
        result.append(",\"interval_of_now\":").append(read("1s", 1, () -> publish(out, 1)));
        List<Message> seen = Collections.synchronizedList(new ArrayList<>());
        int lost = 0;
        while (seen.size() < sent) {
            Object from = seen.isEmpty() ? "first" : (Object) (seen.get(seen.size() - 1).offset + 1);
            boolean all = consume(proxied, from, message -> {
                seen.add(message);
                if (seen.size() == 60 || seen.size() == 120) {
                    cut();
                }
                return seen.size() < sent;
            }, () -> { });
            lost += all ? 0 : 1;
        }
        result.append(",\"resumed\":").append(json(seen)).append(",\"lost\":").append(lost).append('}');
        publisher.close();
        System.out.println(result);
        System.exit(0);
    }
}
